(() => {
  const byId = new Map(customers.map(customer => [customer.id, customer]));
  const tiers = new Map();
  for (const {customer_id, amount} of purchases) {
    const {tier} = byId.get(customer_id);
    const row = tiers.get(tier);
    if (row) { row[1] += amount; row[2]++; } else tiers.set(tier, [tier, amount, 1]);
  }
  return [...tiers.values()].sort((a, b) => a[0] - b[0]);
})()
