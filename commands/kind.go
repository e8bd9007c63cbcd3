package commands

import (
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/types"
)

// Encoding returns the name of the representation that Redis would choose for
// the value of an existing key. It does not count as a use of the key.
func (c *Ctx) Encoding(key []byte) (string, error) {
	noTouch := c.Tx.NoTouch
	c.Tx.NoTouch = true
	defer func() { c.Tx.NoTouch = noTouch }()
	kind := c.Tx.Kind(key)
	if kind == structures.KindString {
		b, _, err := c.Tx.String(key)
		return stringEncoding(b), err
	}
	t := types.Of(kind)
	if t == nil || t.Encoding == nil {
		return types.DefaultEncoding, nil
	}
	v, err := c.Tx.Value(key)
	if err != nil {
		return "", err
	}
	return t.Encoding(v, &c.Host.Limits().Thresholds), nil
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
