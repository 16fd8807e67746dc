(() => {
  const doc = {};
  for (const {a, b, c, by} of changes) {
    const inner = (doc[a] ??= {})[b] ??= {};
    inner[c] = (inner[c] ?? 0) + by;
  }
  const leaves = Object.values(doc).flatMap(Object.values).flatMap(Object.values);
  return [leaves.length, doc.a0?.b0?.c0 ?? 0, leaves.reduce((a, b) => a + b, 0)];
})()
