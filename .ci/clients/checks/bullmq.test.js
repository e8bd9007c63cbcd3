import assert from 'node:assert'
import test from 'node:test'
import { FlowProducer, Queue, QueueEvents, Worker } from 'bullmq'

const connection = { host: '127.0.0.1', port: 6379, maxRetriesPerRequest: null }

async function withWorker(name, handle, options, use) {
  const queue = new Queue(name, { connection })
  const events = new QueueEvents(name, { connection })
  const worker = new Worker(name, handle, { connection, ...options })
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady(), worker.waitUntilReady()])
  try { await use(queue, events) } finally { await Promise.all([worker.close(), events.close(), queue.close()]) }
}

test('jobs return results', () => withWorker('plain', async job => job.data.n * 2, { concurrency: 8 }, async (queue, events) => {
  const jobs = await queue.addBulk(Array.from({ length: 100 }, (_, n) => ({ name: 'double', data: { n } })))
  const results = await Promise.all(jobs.map(job => job.waitUntilFinished(events)))
  assert.deepStrictEqual(results, jobs.map((_, n) => n * 2))
  assert.strictEqual((await queue.getJobCounts('completed')).completed, 100)
}))

test('failed jobs are tried again', () => withWorker('retry', async job => {
  if (job.attemptsMade < 2) throw new Error('not yet')
  return job.attemptsMade
}, {}, async (queue, events) => {
  const job = await queue.add('stubborn', {}, { attempts: 3, backoff: 10 })
  assert.strictEqual(await job.waitUntilFinished(events), 2)
}))

test('delayed jobs wait, priorities order', async () => {
  const order = []
  const queue = new Queue('order', { connection })
  await queue.add('later', {}, { delay: 200 })
  await queue.add('low', {}, { priority: 9 })
  await queue.add('high', {}, { priority: 1 })
  await queue.close()
  await withWorker('order', async job => { order.push(job.name) }, {}, async (queue) => {
    while (order.length < 3) await new Promise(done => setTimeout(done, 20))
  })
  assert.deepStrictEqual(order, ['high', 'low', 'later'])
})

test('a parent waits for its children', () => withWorker('flow', async job =>
  job.name === 'parent' ? Object.values(await job.getChildrenValues()).reduce((a, b) => a + b) : job.data, { concurrency: 3 },
async (_, events) => {
  const flow = new FlowProducer({ connection })
  const { job } = await flow.add({ name: 'parent', queueName: 'flow', children: [1, 2, 3].map(data => ({ name: 'child', queueName: 'flow', data })) })
  assert.strictEqual(await job.waitUntilFinished(events), 6)
  await flow.close()
}))

test('a queue pauses, drains and is obliterated', async () => {
  const queue = new Queue('admin', { connection })
  await queue.pause()
  await queue.add('x', {})
  assert.strictEqual(await queue.isPaused(), true)
  assert.strictEqual(await queue.count(), 1)
  await queue.drain()
  assert.strictEqual(await queue.count(), 0)
  await queue.obliterate({ force: true })
  await queue.close()
})

test('repeated jobs come again', () => withWorker('repeat', async () => {}, {}, async (queue, events) => {
  let times = 0
  const thrice = new Promise(done => events.on('completed', () => { if (++times === 3) done() }))
  await queue.upsertJobScheduler('tick', { every: 100 })
  await thrice
  assert.strictEqual(await queue.removeJobScheduler('tick'), true)
}))
