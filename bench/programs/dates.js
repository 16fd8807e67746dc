(() => {
  const day = 86400000;
  const parsed = dates.map(text => new Date(text + "T00:00:00Z"));
  const due = parsed.map(date => new Date(date.getTime() + 45 * day).toISOString().slice(0, 10));
  return {
    mondays: parsed.filter(date => date.getUTCDay() === 1).length,
    distance: parsed.slice(1).reduce((sum, date, i) => sum + Math.abs(date - parsed[i]) / day, 0),
    latest: due.sort().at(-1),
  };
})()
