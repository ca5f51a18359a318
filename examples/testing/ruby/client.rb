# The program under test: a small client of the service.
require "json"
require "net/http"

def picture_of(prompt)
  key = { "x-key" => ENV.fetch("IMAGEKILN_API_KEY") }
  submission = URI(ENV.fetch("IMAGEKILN_BASE_URL") + "/v1/gen-2-pro")
  body = { prompt: prompt, width: 64, height: 64 }.to_json
  response = Net::HTTP.post(submission, body, "content-type" => "application/json", **key)
  raise response.body unless response.is_a?(Net::HTTPOK)
  polling_url = URI(JSON.parse(response.body)["polling_url"])
  loop do
    response = Net::HTTP.get_response(polling_url, key)
    next if response.is_a?(Net::HTTPServerError)
    raise response.body unless response.is_a?(Net::HTTPOK)
    answer = JSON.parse(response.body)
    return Net::HTTP.get(URI(answer["result"]["sample"])) if answer["status"] == "Ready"
    sleep 0.1
  end
end
