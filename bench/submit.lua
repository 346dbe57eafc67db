-- Every request submits another task; at the end one line of JSON. Latencies in microseconds.
local number = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"

function request()
  number = number + 1
  return wrk.format(nil, nil, nil, '{"number":' .. number .. '}')
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"us":%d,"p50":%d,"p99":%d,"max":%d,"broken":%d,"refused":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    latency.max, errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
