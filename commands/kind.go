package commands

import (
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

// KindName is the name of a type in TYPE and SCAN TYPE.
func KindName(k structures.Kind) string {
	switch k {
	case structures.KindNone:
		return "none"
	case structures.KindString:
		return "string"
	case structures.KindList:
		return "list"
	case structures.KindHash:
		return "hash"
	case structures.KindBloom:
		return "MBbloom--" // the name under which RedisBloom registers its type
	case structures.KindSchedule:
		return "schedule"
	case structures.KindPlace:
		return "placement"
	}
	return "unknown"
}

// Encoding returns the name of the representation that Redis would choose for
// the value of an existing key. It does not count as a use of the key.
func (c *Ctx) Encoding(key []byte) (string, error) {
	noTouch := c.Tx.NoTouch
	c.Tx.NoTouch = true
	defer func() { c.Tx.NoTouch = noTouch }()
	limits := c.Host.Limits()
	switch c.Tx.Kind(key) {
	case structures.KindString:
		b, _, err := c.Tx.String(key)
		return stringEncoding(b), err
	case structures.KindList:
		l, _, err := persistence.View[*structures.List](c.Tx, key)
		if err != nil {
			return "", err
		}
		return l.Encoding(limits.ListMaxListpack), nil
	case structures.KindHash:
		h, _, err := persistence.View[*structures.Hash](c.Tx, key)
		if err != nil {
			return "", err
		}
		return h.Encoding(limits.HashMaxEntries, limits.HashMaxValue), nil
	}
	return "raw", nil // what Redis returns for the types of modules
}

// maxEmbedded is the longest string that Redis keeps in one allocation with
// its header.
const maxEmbedded = 44

func stringEncoding(b []byte) string {
	if _, ok := ParseInt(b); ok {
		return "int"
	}
	if len(b) <= maxEmbedded {
		return "embstr"
	}
	return "raw"
}
