package persistence

import (
	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/heads"
	"github.com/vigildb/vigil/persistence/keyspace"
)

// Bless says whether key is to stay when keys are deleted to make room, and reports whether that is new; ok: the key exists. What is
// said holds until the key is gone. The error is a NeedsLevelError.
func (tx *Tx) Bless(key []byte, on bool) (changed, ok bool, err error) {
	t, i, ok := tx.find(tx.hash(key), key)
	if !ok || t.Blessed(key) == on {
		return false, ok, nil
	}
	if err := tx.Require(LevelTimed); err != nil {
		return false, true, err
	}
	tx.rec.about(t, key)
	format.RecordBless(&tx.rec.Change, on)
	t.Bless(key, on)
	t.SetMeta(i, t.Meta(i)|keyspace.Dirty)
	tx.changed = true
	return true, true, nil
}

// Blessed reports whether key is to stay. ok: it exists. It does not count as a use.
func (tx *Tx) Blessed(key []byte) (blessed, ok bool) {
	t, _, ok := tx.find(tx.hash(key), key)
	return ok && t.Blessed(key), ok
}

// follow makes a key that has got the value of a blessed one blessed, too.
func (tx *Tx) follow(db int, key []byte, blessed bool) {
	if !blessed || tx.placer.Err != nil {
		return
	}
	defer tx.in(db)()
	tx.Bless(key, true) // the level is high enough, or there were none
}

// ScanBlessed is Scan for the keys that are to stay.
func (d Databases) ScanBlessed(cursor uint64, count int, visit func(key []byte)) (next uint64) {
	return d.scan(cursor, count, func(e *heads.Walked) {
		if e.Blessed {
			visit(e.Key)
		}
	})
}
