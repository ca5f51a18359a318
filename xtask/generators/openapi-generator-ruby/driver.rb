# Makes a picture with the client of openapi-generator's `ruby`.

require "net/http"
require "openapi_client"

MAX_POLLS = 100

OpenapiClient.configure do |configuration|
  base = URI(ENV.fetch("IMAGEKILN_BASE_URL"))
  configuration.scheme = base.scheme
  configuration.host = "#{base.host}:#{base.port}"
  configuration.api_key["x-key"] = ENV.fetch("IMAGEKILN_API_KEY")
end

request = OpenapiClient::Gen2Pro.new(
  prompt: "a red fox in the snow", width: 256, height: 256, seed: 7
)
task = OpenapiClient::GenerationApi.new.gen2_pro(request)
tasks = OpenapiClient::TasksApi.new
(1..MAX_POLLS).each do |polls|
  poll = tasks.get_result(task.id)
  if poll.status == "Ready"
    File.binwrite(ARGV.last, Net::HTTP.get(URI(poll.result.sample)))
    puts polls
    exit
  end
  sleep 0.1
end
abort "the task #{task.id} was not ready after #{MAX_POLLS} polls"
