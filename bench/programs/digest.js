(() => {
  const shipped = orders.filter(order => order.status === "shipped");
  const amounts = shipped.map(order => order.amount);
  return {
    count: shipped.length,
    total: amounts.reduce((a, b) => a + b, 0),
    largest: Math.max(...amounts),
    customers: new Set(shipped.map(order => order.customer.id)).size,
  };
})()
