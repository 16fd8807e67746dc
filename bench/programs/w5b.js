(() => {
  const groups = new Map();
  for (const {region, amount} of orders.filter(order => order.amount > 100)) {
    const group = groups.get(region);
    if (group) { group[1] += amount; group[2]++; } else groups.set(region, [region, amount, 1]);
  }
  return [...groups.values()].sort((a, b) => b[1] - a[1]);
})()
