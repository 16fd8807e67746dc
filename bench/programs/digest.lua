local count, total, largest, customers, seen = 0, 0, 0, 0, {}
for _, order in ipairs(orders) do
  if order.status == "shipped" then
    count = count + 1
    total = total + order.amount
    largest = math.max(largest, order.amount)
    if not seen[order.customer.id] then
      seen[order.customer.id] = true
      customers = customers + 1
    end
  end
end
return {count = count, total = total, largest = largest, customers = customers}
