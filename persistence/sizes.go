package persistence

import "github.com/vigildb/vigil/persistence/keyspace"

// Sizes is how many values of a database have which sizes.
type Sizes = keyspace.Sizes

// Sizes counts the values in memory, those of each database. Nothing is counted when values change, so that a call looks at each
// of them: it takes about a tenth of a second for a million. What is on disk only is not seen.
func (s *Store) Sizes() []*Sizes {
	var all []*Sizes
	for i := range s.keyspace.Shard {
		sh := &s.keyspace.Shard[i]
		for db, from, more := 0, uint64(0), true; more && s.keyspace.LockShard(sh); {
			if more = db < len(sh.Tables); more {
				if from = s.keyspace.CountSizes(sh.Tables[db], from, sizesOf(&all, db)); from == 0 {
					db++
				}
			}
			sh.Mu.Unlock()
		}
	}
	return all
}

// sizesOf returns the sizes of a database in a list that grows as needed.
func sizesOf(all *[]*Sizes, db int) *Sizes {
	for len(*all) <= db {
		*all = append(*all, new(Sizes))
	}
	return (*all)[db]
}
