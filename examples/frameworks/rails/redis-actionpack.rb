# [documented]
# config/environments/production.rb, and gem "redis-actionpack" in the Gemfile
Rails.application.configure do
  config.session_store :redis_store, servers: ["#{ENV["REDIS_URL"]}/0/session"],
                                     key: "_shop_session", expire_after: 30.minutes
end
# [end]
