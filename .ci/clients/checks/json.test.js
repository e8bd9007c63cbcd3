import assert from 'node:assert'
import { after, before, test } from 'node:test'
import { createClient } from 'redis'

// Every command of @redis/json, which is a part of the client.
for (const RESP of [2, 3]) {
  const client = createClient({ RESP })
  const session = { user: { name: 'Ada' }, hits: 1, tags: ['a', 'b'], on: true }
  before(() => client.connect())
  after(() => client.close())
  const fresh = async () => {
    await client.flushAll()
    assert.strictEqual(await client.json.set('k', '$', session), 'OK')
  }

  test(`RESP${RESP}: documents`, async () => {
    await fresh()
    assert.deepStrictEqual(await client.json.get('k'), session)
    assert.deepStrictEqual(await client.json.get('k', { path: '$.user.name' }), ['Ada'])
    assert.deepStrictEqual(await client.json.get('k', { path: ['$.hits', '$.on'] }), { '$.hits': [1], '$.on': [true] })
    assert.strictEqual(await client.json.set('k', '$', 1, { condition: 'NX' }), null)
    assert.strictEqual(await client.json.set('none', '$', 1, { condition: 'XX' }), null)
    assert.strictEqual(await client.json.mSet([{ key: 'm', path: '$', value: { a: 1 } }, { key: 'n', path: '$', value: { a: 2 } }]), 'OK')
    assert.deepStrictEqual(await client.json.mGet(['m', 'n', 'none'], '$.a'), [[1], [2], null])
    assert.strictEqual(await client.json.merge('k', '$', { user: { mail: 'a@b' }, on: null }), 'OK')
    assert.deepStrictEqual(await client.json.get('k'), { user: { name: 'Ada', mail: 'a@b' }, hits: 1, tags: ['a', 'b'] })
    assert.strictEqual(await client.json.del('k', { path: '$.user' }), 1)
    assert.strictEqual(await client.json.forget('k'), 1)
    assert.strictEqual(await client.json.get('k'), null)
  })

  test(`RESP${RESP}: parts`, async () => {
    await fresh()
    assert.deepStrictEqual((await client.json.type('k', { path: '$.hits' })).flat(), ['integer'])
    assert.deepStrictEqual(await client.json.objKeys('k', { path: '$.user' }), [['name']])
    assert.deepStrictEqual(await client.json.objLen('k', { path: '$' }), [4])
    assert.deepStrictEqual(await client.json.strLen('k', { path: '$.user.name' }), [3])
    assert.deepStrictEqual(await client.json.strAppend('k', ' L.', { path: '$.user.name' }), [6])
    assert.deepStrictEqual(await client.json.toggle('k', '$.on'), [0])
    assert.strictEqual(await client.json.clear('k', { path: '$.tags' }), 1)
    assert.ok((await client.json.debugMemory('k', { path: '$.user' }))[0] > 0)
  })

  test(`RESP${RESP}: numbers`, async () => {
    await fresh()
    assert.deepStrictEqual(await client.json.numIncrBy('k', '$.hits', 2), [3])
    assert.deepStrictEqual(await client.json.numMultBy('k', '$.hits', 1.5), [4.5])
    assert.deepStrictEqual(await client.json.numIncrBy('k', '$..name', 1), [null])
  })

  test(`RESP${RESP}: arrays`, async () => {
    await fresh()
    assert.deepStrictEqual(await client.json.arrAppend('k', '$.tags', 'c', { d: 1 }), [4])
    assert.deepStrictEqual(await client.json.arrIndex('k', '$.tags', 'b'), [1])
    assert.deepStrictEqual(await client.json.arrIndex('k', '$.tags', 'a', { range: { start: 1, stop: 3 } }), [-1])
    assert.deepStrictEqual(await client.json.arrInsert('k', '$.tags', 0, 'z'), [5])
    assert.deepStrictEqual(await client.json.arrLen('k', { path: '$.tags' }), [5])
    assert.deepStrictEqual(await client.json.arrPop('k', { path: '$.tags', index: -1 }), [{ d: 1 }])
    assert.deepStrictEqual(await client.json.arrTrim('k', '$.tags', 1, 2), [2])
    assert.deepStrictEqual(await client.json.get('k', { path: '$.tags' }), [['a', 'b']])
  })
}
