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

for (const RESP of [2, 3]) {
  const client = createClient({ RESP })
  before(() => client.connect())
  after(() => client.close())

  test(`RESP${RESP}: Bloom and cuckoo filters`, async () => {
    await client.flushAll()
    assert.strictEqual(await client.bf.reserve('b', 0.01, 100), 'OK')
    assert.deepStrictEqual(await client.bf.mAdd('b', ['x', 'y']), [true, true])
    assert.deepStrictEqual(await client.bf.mExists('b', ['x', 'z']), [true, false])
    assert.strictEqual((await client.bf.info('b'))['Number of items inserted'], 2)
    const b = await client.bf.scanDump('b', 0)
    assert.strictEqual(b.iterator, 1)
    assert.strictEqual(await client.cf.reserve('c', 100, { BUCKETSIZE: 4 }), 'OK')
    assert.strictEqual(await client.cf.add('c', 'x'), true)
    assert.strictEqual(await client.cf.addNX('c', 'x'), false)
    assert.deepStrictEqual(await client.cf.insert('c', ['x', 'y']), [true, true])
    assert.strictEqual(await client.cf.count('c', 'x'), 2)
    assert.strictEqual(await client.cf.del('c', 'y'), true)
    assert.strictEqual(await client.cf.exists('c', 'y'), false)
    assert.strictEqual((await client.cf.info('c'))['Number of items deleted'], 1)
  })

  test(`RESP${RESP}: sketches, most frequent items, digests`, async () => {
    await client.flushAll()
    assert.strictEqual(await client.cms.initByDim('m', 1000, 5), 'OK')
    assert.deepStrictEqual(await client.cms.incrBy('m', [{ item: 'x', incrementBy: 3 }, { item: 'y', incrementBy: 1 }]), [3, 1])
    assert.deepStrictEqual(await client.cms.query('m', ['x', 'z']), [3, 0])
    assert.strictEqual(await client.cms.merge('m', [{ name: 'm', weight: 2 }]), 'OK')
    assert.deepStrictEqual({ ...await client.cms.info('m') }, { width: 1000, depth: 5, count: 8 })
    assert.strictEqual(await client.topK.reserve('k', 2), 'OK')
    assert.deepStrictEqual(await client.topK.add('k', ['x', 'y', 'x']), [null, null, null])
    assert.deepStrictEqual((await client.topK.listWithCount('k')).map(e => ({ ...e })), [{ item: 'x', count: 2 }, { item: 'y', count: 1 }])
    assert.deepStrictEqual(await client.topK.query('k', ['x', 'z']), [true, false])
    assert.strictEqual(await client.tDigest.create('d'), 'OK')
    assert.deepStrictEqual(await client.tDigest.quantile('d', [0.5]), [NaN])
    assert.strictEqual(await client.tDigest.add('d', [1, 2, 3, 4]), 'OK')
    assert.deepStrictEqual(await client.tDigest.cdf('d', [0, 9]), [0, 1])
    assert.deepStrictEqual(await client.tDigest.rank('d', [0, 3, 9]), [-1, 2, 4])
    assert.strictEqual(await client.tDigest.max('d'), 4)
    assert.strictEqual((await client.tDigest.info('d')).Observations, 4)
  })
}
