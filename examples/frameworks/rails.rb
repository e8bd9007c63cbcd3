# Rails with the configuration in rails/ that the argument names: the cache and sessions in it, or sessions of redis-actionpack.
require "active_support/all"
require "action_controller/railtie"
require "rack/mock"
require "redis"

ENV["REDIS_URL"] = ENV.fetch("VIGIL_URL")
SESSIONS = ARGV.fetch(0)
require "redis-actionpack" if SESSIONS == "redis-actionpack"

class Shop < Rails::Application
  config.eager_load = false
  config.consider_all_requests_local = false
  config.secret_key_base = "0" * 64
  config.hosts.clear
  config.logger = Logger.new(IO::NULL)
  routes.append do
    get "/", to: "visits#show"
    get "/price", to: "visits#price"
    get "/out", to: "visits#out"
  end
end

load File.join(__dir__, "rails", "#{SESSIONS}.rb")

class VisitsController < ActionController::Base
  def show
    session[:views] = (session[:views] || 0) + 1
    render plain: session[:views]
  end

  def price
    render plain: Rails.cache.fetch("price", expires_in: 5.minutes) { params[:now] }
  end

  def out
    reset_session
    head :ok
  end
end
Shop.initialize!

def check(ok, what) = ok || abort("failed: #{what}")

# visit is a request of a browser that keeps its cookie.
def visit(path)
  response = Rack::MockRequest.new(Shop).get(path, "HTTP_COOKIE" => $cookie.to_s)
  $cookie = response["Set-Cookie"].split(";").first if response["Set-Cookie"]
  response
end

# Away refuses connections while it is on, as a machine without vigil does.
module Away
  singleton_class.attr_accessor :on

  def connect = Away.on ? raise(Redis::CannotConnectError) : super
end
Redis::Client.prepend(Away)

# away calls the block while vigil is away.
def away
  ObjectSpace.each_object(Redis::Client, &:disconnect)
  Away.on = true
  yield
ensure
  Away.on = false
end

redis = Redis.new(url: ENV["REDIS_URL"])
check visit("/").body == "1", "the first page"
check visit("/").body == "2", "the session is there again"
keys = redis.keys({ "cache" => "cache:_session_id:*", "redis-actionpack" => "session:*" }.fetch(SESSIONS))
check keys.size == 1, "keys #{keys} of #{redis.keys}"
check redis.ttl(keys.first).between?(1700, 1800), "ttl #{redis.ttl(keys.first)}"
visit("/out")
check !redis.exists?(keys.first), "an ended session is still there"
check visit("/").body == "1", "an ended session came back"

answer = away { visit("/") }
after = visit("/").body
if SESSIONS == "cache" # an error is a missing key, and the visitor gets another session
  check answer.status == 200 && after != "2", "without the store: #{answer.status}, and then #{after}"
else
  check answer.status == 500 && after == "2", "without the store: #{answer.status}, and then #{after}"
end

if SESSIONS == "cache"
  check visit("/price?now=10").body == "10", "the cache is filled"
  check visit("/price?now=20").body == "10", "the cache answers"
  check redis.ttl("cache:price").between?(200, 300), "ttl of the cache #{redis.ttl("cache:price")}"
  Rails.cache.increment("hits", 2, expires_in: 60)
  check Rails.cache.read("hits", raw: true) == "2", "a counter"
  Rails.cache.write_multi({ "a" => 1, "b" => 2 }, expires_in: 60)
  check Rails.cache.read_multi("a", "b", "c") == { "a" => 1, "b" => 2 }, "several at once"
  Rails.cache.delete_matched("a*")
  check !Rails.cache.exist?("a") && Rails.cache.exist?("b"), "deleted by pattern"
end
redis.flushdb
