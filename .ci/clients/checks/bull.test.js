import assert from 'node:assert'
import test from 'node:test'
import Bull from 'bull'

test('jobs return results, failed ones are tried again', async () => {
  const queue = new Bull('bull', 'redis://127.0.0.1:6379')
  queue.process(4, async job => {
    if (job.data.fails > job.attemptsMade) throw new Error('not yet')
    return job.data.n
  })
  const jobs = await Promise.all(Array.from({ length: 50 }, (_, n) => queue.add({ n, fails: n % 2 }, { attempts: 2 })))
  const results = await Promise.all(jobs.map(job => job.finished()))
  assert.deepStrictEqual(results, jobs.map((_, n) => n))
  await queue.close()
})

test('delayed jobs wait, priorities order', async () => {
  const queue = new Bull('order', 'redis://127.0.0.1:6379')
  const order = []
  await queue.pause()
  await queue.add({ name: 'later' }, { delay: 300 })
  await queue.add({ name: 'low' }, { priority: 9 })
  await queue.add({ name: 'high' }, { priority: 1 })
  await queue.resume()
  await new Promise(done => queue.process(async job => { if (order.push(job.data.name) === 3) done() }))
  assert.deepStrictEqual(order, ['high', 'low', 'later'])
  await queue.close()
})
