(() => {
  let sum = 0;
  for (let i = 0; i < n; i++) sum += succ(i);
  return sum;
})()
