(() => {
  const title = word => word[0].toUpperCase() + word.slice(1).toLowerCase();
  const rows = contacts.map(line => {
    const [name, mail] = line.split(";");
    return [name.trim().split(/\s+/).map(title).join(" "), mail.trim().toLowerCase()];
  });
  return {
    first: rows.slice(0, 3),
    hosts: new Set(rows.map(([, mail]) => mail.split("@")[1])).size,
    length: rows.reduce((sum, row) => sum + row.join(" ").length, 0),
  };
})()
