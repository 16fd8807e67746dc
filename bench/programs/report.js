(() => {
  const groups = {};
  for (const {region, status, amount} of orders) {
    if (status !== "paid") continue;
    const group = groups[region] ??= {region, count: 0, total: 0};
    group.count++;
    group.total += amount;
  }
  return Object.values(groups).sort((a, b) => b.total - a.total).slice(0, 3);
})()
