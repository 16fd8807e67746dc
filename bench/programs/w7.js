(() => {
  const counts = new Map();
  for (const word of text.toLowerCase().trim().split(/\s+/)) counts.set(word, (counts.get(word) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 10);
})()
