package admin

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/json"
	"github.com/vigildb/vigil/structures/list"
	"github.com/vigildb/vigil/structures/set"
	"github.com/vigildb/vigil/structures/stream"
	"github.com/vigildb/vigil/structures/zset"
)

// digest is the sum of DEBUG DIGEST, the same as in Redis for the types of Redis: two
// servers with the same data have the same digest. What has no order is added with xor,
// what has one is chained.
type digest [sha1.Size]byte

// add includes bytes in a way that does not depend on the order of such calls.
func (d *digest) add(b []byte) {
	sum := sha1.Sum(b)
	for i := range d {
		d[i] ^= sum[i]
	}
}

// chain includes bytes in a way that depends on all that was included before.
func (d *digest) chain(b []byte) {
	d.add(b)
	*d = sha1.Sum(d[:])
}

func (d *digest) chainNumber(n uint32) { d.chain(binary.BigEndian.AppendUint32(nil, n)) }

// pair is the digest of two byte strings in their order.
func pair(a, b []byte) (d digest) {
	d.chain(a)
	d.chain(b)
	return d
}

// redisKinds are the numbers of the types in Redis, which digests begin with.
var redisKinds = map[structures.Kind]uint32{structures.KindString: 0, structures.KindList: 1, structures.KindSet: 2,
	structures.KindZSet: 3, structures.KindHash: 4, structures.KindStream: 6}

// ownKinds is added to the kinds that Redis does not have.
const ownKinds = 1000

// key includes what a key holds. A key that does not exist leaves d as it is.
func (d *digest) key(c *commands.Ctx, key []byte) error {
	kind := c.Tx.Kind(key)
	if kind == structures.KindNone {
		return nil
	}
	number, known := redisKinds[kind]
	if !known {
		number = ownKinds + uint32(kind)
	}
	d.chainNumber(number)
	switch kind {
	case structures.KindString:
		b, _, err := c.Tx.String(key)
		if err != nil {
			return err
		}
		d.chain(b)
	default:
		if err := d.value(c, key); err != nil {
			return err
		}
	}
	if ms, _ := c.Tx.ExpireAt(key); ms != 0 {
		d.add([]byte("!!expire!!"))
	}
	return nil
}

func (d *digest) value(c *commands.Ctx, key []byte) error {
	v, err := c.Tx.Value(key)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *list.List:
		v.Range(0, -1, d.chain)
	case *set.Set:
		v.Each(func(member []byte) bool {
			d.add(member)
			return true
		})
	case *zset.Set:
		v.Range(0, v.Len(), func(member []byte, score float64) bool {
			p := pair(member, commands.AppendShortest(nil, score))
			d.add(p[:])
			return true
		})
	case *hash.Hash:
		v.Each(c.Now, func(field, value []byte, expiry int64) {
			p := pair(field, value)
			if expiry != 0 {
				p.add([]byte("!!hexpire!!"))
			}
			d.add(p[:])
		})
	case *stream.Stream:
		v.Each(stream.ID{}, stream.MaxID, func(e *stream.Entry) bool {
			d.chain([]byte(strconv.FormatUint(e.ID.Ms, 10) + "." + strconv.FormatUint(e.ID.Seq, 10)))
			e.Each(func(field, value []byte) {
				d.chain(field)
				d.chain(value)
			})
			return true
		})
	case *json.Document:
		d.chain(json.AppendText(nil, v.Root())) // its pages may be cut in several ways
	default:
		_, payload, _ := c.Tx.Transfers().Dump(nil, key)
		d.chain(payload)
	}
	return nil
}

// watching keeps the keys that a digest reads from counting as used.
func watching(c *commands.Ctx) (end func()) {
	noTouch := c.Tx.NoTouch
	c.Tx.NoTouch = true
	return func() { c.Tx.NoTouch = noTouch }
}

// debugDigest reads the whole data, and brings it into memory a key at a time.
func debugDigest(c *commands.Ctx) error {
	defer watching(c)()
	defer c.Tx.Select(c.Client.DB())
	var all digest
	for db := range c.Host.Limits().Databases {
		if c.Tx.Databases().Size(db) == 0 {
			continue
		}
		c.Tx.Select(db)
		all.chainNumber(uint32(db))
		var keys [][]byte // first: a value that comes into memory moves keys of the table that is walked
		c.Tx.Databases().Keys(func(key []byte) bool {
			keys = append(keys, bytes.Clone(key))
			return true
		})
		for _, key := range keys {
			var d digest
			d.chain(key)
			if err := d.key(c, key); err != nil {
				return err
			}
			all.add(d[:])
		}
	}
	c.Reply.Status(hex.EncodeToString(all[:]))
	return nil
}

func debugDigestValue(c *commands.Ctx) error {
	defer watching(c)()
	keys := c.Args.Rest()
	c.Reply.Array(len(keys))
	for _, key := range keys {
		var d digest
		if err := d.key(c, key); err != nil {
			return err
		}
		c.Reply.Status(hex.EncodeToString(d[:]))
	}
	return nil
}
