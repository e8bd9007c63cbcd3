# [documented]
# config/environments/production.rb
Rails.application.configure do
  config.cache_store = :redis_cache_store, {
    url: ENV["REDIS_URL"], namespace: "cache", expires_in: 1.day,
  }
  config.session_store :cache_store, key: "_shop_session", expire_after: 30.minutes
end
# [end]
