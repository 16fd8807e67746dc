(() => {
  const items = Array.from({length: n}, (_, i) => lookup(i));
  const picked = items.filter(item => item.tags.includes("t0"));
  return {
    names: picked.map(item => item.name.toUpperCase()).join(", "),
    total: picked.reduce((sum, item) => sum + item.price, 0),
  };
})()
