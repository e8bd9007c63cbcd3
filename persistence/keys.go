package persistence

import (
	"crypto/hkdf"
	"crypto/sha256"

	"github.com/vigildb/vigil/structures"
)

// storeKeys are what comes from a store's secret. They are derived with different
// names (HKDF, RFC 5869), so that what one of them showed would tell nothing of
// the others. The names are frozen as the disk is: the order of keys and fields
// depends on them.
type storeKeys struct {
	hash    structures.HashKey // of keys
	cursors structures.HashKey // of SCAN
	values  structures.HashKeys
}

func deriveKeys(secret [16]byte) storeKeys {
	return storeKeys{
		hash:    deriveKey(secret, "vigil keys"),
		cursors: deriveKey(secret, "vigil cursors of keys"),
		values: structures.HashKeys{
			Fields:  deriveKey(secret, "vigil fields"),
			Cursors: deriveKey(secret, "vigil cursors of fields"),
		},
	}
}

func deriveKey(secret [16]byte, name string) structures.HashKey {
	b, err := hkdf.Key(sha256.New, secret[:], nil, name, len(secret))
	if err != nil {
		panic("persistence: derive a key: " + err.Error()) // asked for too much, or of too little
	}
	return structures.NewHashKey([16]byte(b))
}

// HashKeys are the keys for the hashes of this store.
func (tx *Tx) HashKeys() *structures.HashKeys { return &tx.s.keys.values }
