package format

import (
	"crypto/hkdf"
	"crypto/sha256"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/shapes"
)

// Keys are what comes from a store's secret. They are derived with different
// names (HKDF, RFC 5869), so that what one of them showed would tell nothing of
// the others. The names are frozen as the disk is: the order of keys and fields
// depends on them.
type Keys struct {
	Hash    structures.HashKey // of keys
	Cursors structures.HashKey // of SCAN
	Values  structures.HashKeys
}

// DeriveKeys returns the keys of a store with this secret.
func DeriveKeys(secret [16]byte) Keys {
	return Keys{
		Hash:    deriveKey(secret, "vigil keys"),
		Cursors: deriveKey(secret, "vigil cursors of keys"),
		Values: structures.HashKeys{
			Fields:  deriveKey(secret, "vigil fields"),
			Cursors: deriveKey(secret, "vigil cursors of fields"),
			Shapes:  new(shapes.Shapes),
		},
	}
}

// Equal reports whether the keys come from the same secret.
func (k *Keys) Equal(other *Keys) bool {
	return k.Hash == other.Hash && k.Cursors == other.Cursors && k.Values.Fields == other.Values.Fields && k.Values.Cursors == other.Values.Cursors
}

// LogID returns what tells the segments of the log of a store from those of others.
func LogID(secret [16]byte) [16]byte { return derive(secret, "vigil log") }

func deriveKey(secret [16]byte, name string) structures.HashKey {
	return structures.NewHashKey(derive(secret, name))
}

func derive(secret [16]byte, name string) [16]byte {
	b, err := hkdf.Key(sha256.New, secret[:], nil, name, len(secret))
	if err != nil {
		panic("persistence: derive a key: " + err.Error()) // asked for too much, or of too little
	}
	return [16]byte(b)
}
