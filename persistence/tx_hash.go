package persistence

import "unsafe"

// A hash of a key costs as much as the rest of a look into a table, and a call
// needs it for the lock, for what it reads and for what it writes. The
// transaction remembers those of the keys that the call names, by where their
// bytes lie: they stay there, unchanged, until the call is over.
type keyHash struct {
	at   uintptr // not a pointer, which would keep a large buffer from being collected
	size int
	hash uint64
}

const (
	// maxExpected is how many are remembered; calls with more keys hash the others twice.
	maxExpected = 64
	// expectedProbes is at how many a look-up looks, from the last one found on:
	// calls go through their keys in order.
	expectedProbes = 4
)

func addressOf(key []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(key))) }

// Expect returns the hash of a key that is going to be used under the next Lock,
// whose bytes neither move nor change until Unlock.
func (tx *Tx) Expect(key []byte) uint64 { return tx.ExpectHash(key, tx.s.Hash(key)) }

// ExpectHash is Expect for a key whose hash is known.
func (tx *Tx) ExpectHash(key []byte, hash uint64) uint64 {
	if len(tx.expected) < maxExpected {
		tx.expected = append(tx.expected, keyHash{addressOf(key), len(key), hash})
	}
	return hash
}

// hash is the hash of any key.
func (tx *Tx) hash(key []byte) uint64 {
	at, n := addressOf(key), tx.lastFound
	for range min(expectedProbes, len(tx.expected)) {
		if n >= len(tx.expected) {
			n = 0
		}
		if e := &tx.expected[n]; e.at == at && e.size == len(key) {
			tx.lastFound = n
			return e.hash
		}
		n++
	}
	return tx.s.Hash(key)
}

// forgetHashes is to be called before the bytes of keys change.
func (tx *Tx) forgetHashes() { tx.expected, tx.lastFound = tx.expected[:0], 0 }
