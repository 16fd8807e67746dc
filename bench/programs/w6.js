(() => {
  const rows = orders.slice().sort((a, b) =>
    a.region < b.region ? -1 : a.region > b.region ? 1 : a.amount - b.amount || a.id - b.id);
  const n = rows.length;
  return [0, n >> 3, n >> 1, 3 * n >> 2, n - 1].map(i => [rows[i].region, rows[i].amount, rows[i].id]);
})()
