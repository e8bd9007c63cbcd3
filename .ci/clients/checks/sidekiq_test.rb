# Sidekiq: jobs that succeed, fail and wait, done by a process of its own.
require "sidekiq"
require "sidekiq/api"

class Count
  include Sidekiq::Worker
  sidekiq_options retry: 2
  sidekiq_retry_in { 0 }

  def perform(key, fails)
    Sidekiq.redis { |r| raise "not yet" if r.incr("tries:#{key}") <= fails; r.incr("done") }
  end
end

if $PROGRAM_NAME == __FILE__
  Sidekiq.redis(&:flushall)
  20.times { |i| Count.perform_async(i, i == 7 ? 1 : 0) }
  Count.perform_in(1, "later", 0)
  checks = { "20 jobs wait" => Sidekiq::Queue.new.size == 20, "one is for later" => Sidekiq::ScheduledSet.new.size == 1 }
  worker = spawn("sidekiq", "-r", File.expand_path(__FILE__), "-c", "4", "-t", "5", out: File::NULL, err: File::NULL)
  600.times { break if Sidekiq.redis { |r| r.get("done") } == "21"; sleep 0.1 }
  stats = Sidekiq::Stats.new
  checks["21 jobs were done"] = Sidekiq.redis { |r| r.get("done") } == "21"
  checks["nothing waits"] = [Sidekiq::Queue.new.size, stats.scheduled_size, stats.retry_size] == [0, 0, 0]
  checks["a process is known"] = Sidekiq::ProcessSet.new.size == 1
  Process.kill("TERM", worker)
  Process.wait(worker)
  checks.each { |name, ok| puts "#{ok ? "ok" : "not ok"} sidekiq: #{name}" }
  exit checks.values.all?
end
