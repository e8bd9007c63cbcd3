import assert from 'node:assert'
import { after, before, test } from 'node:test'
import { createClient } from 'redis'

for (const RESP of [2, 3]) {
  const client = createClient({ RESP })
  before(() => client.connect())
  after(() => client.close())

  test(`RESP${RESP}: types`, async () => {
    await client.flushAll()
    assert.strictEqual(await client.hSet('h', { a: '1', b: '2' }), 2)
    assert.deepStrictEqual({ ...await client.hGetAll('h') }, { a: '1', b: '2' })
    await client.zAdd('z', [{ score: 1.5, value: 'a' }, { score: 2, value: 'b' }])
    assert.deepStrictEqual(await client.zRangeWithScores('z', 0, -1), [{ value: 'a', score: 1.5 }, { value: 'b', score: 2 }])
    await client.xAdd('s', '1-1', { f: 'v' })
    assert.strictEqual((await client.xRange('s', '-', '+'))[0].message.f, 'v')
  })

  test(`RESP${RESP}: transactions and scripts`, async () => {
    assert.deepStrictEqual(await client.multi().set('k', '1').incr('k').exec(), ['OK', 2])
    assert.strictEqual(await client.eval('return ARGV[1]', { arguments: ['x'] }), 'x')
  })
}
