# Rack::Session::Redis of redis-rack, on which Rails' redis-actionpack is built.
require "rack"
require "rack/session/redis"
require "redis"

app = lambda do |env|
  session = env["rack.session"]
  session["views"] = (session["views"] || 0) + 1
  env["rack.session.options"][:drop] = true if env["PATH_INFO"] == "/out"
  [200, {}, [session["views"].to_s]]
end
# [documented]
web = Rack::Session::Redis.new(app, redis_server: "#{ENV["VIGIL_URL"]}/0/rack", expire_after: 1800)
# [end]
def check(ok, what) = ok || abort("failed: #{what}")

request = Rack::MockRequest.new(web)
first = request.get("/")
cookie = first["Set-Cookie"].split(";").first
check request.get("/", "HTTP_COOKIE" => cookie).body == "2", "the session is there again"
redis = Redis.new(url: ENV["VIGIL_URL"])
keys = redis.keys("rack:*")
check keys.size == 1, "keys #{keys}"
check redis.ttl(keys.first).between?(1700, 1800), "ttl #{redis.ttl(keys.first)}"
request.get("/out", "HTTP_COOKIE" => cookie)
check request.get("/", "HTTP_COOKIE" => cookie).body == "1", "an ended session came back"
redis.del(*redis.keys("rack:*"))
