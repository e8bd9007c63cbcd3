package persistence

import (
	"fmt"
	"maps"

	"github.com/vigildb/vigil/persistence/format"
)

// confirm looks which clients get a reply. What they wrote must be with two members.
func (n *node) confirm() {
	w := n.w
	for i := 0; i < len(n.made); {
		if !n.s.commits.Confirmed(n.position[i]) {
			i++
			continue
		}
		holders := 0
		for _, o := range w.nodes {
			if o.termOfRecord(n.made[i].lsn) == n.made[i].term {
				holders++
			}
		}
		if holders < 2 {
			w.Fatalf("member %d confirms record %d of term %d, which %d members have", n.id, n.made[i].lsn, n.made[i].term, holders)
		}
		w.effects["reply"]++
		n.made = append(n.made[:i], n.made[i+1:]...)
		n.position = append(n.position[:i], n.position[i+1:]...)
	}
}

// hear returns what is told of changes of texts, as a server is.
func (n *node) hear(op byte) func(texts map[string]string, changed []string) {
	return func(texts map[string]string, changed []string) {
		if changed == nil {
			n.told[op] = maps.Clone(texts)
			return
		}
		for _, name := range changed {
			if delete(n.told[op], name); texts[name] != "" {
				n.told[op][name] = texts[name]
			}
		}
	}
}

// heed tells a member what is in the store, as a server does that has put it there.
func (n *node) heed() {
	n.told = map[byte]map[string]string{}
	for op := byte(format.OpUser); op <= format.OpMove; op++ {
		n.told[op] = n.s.Texts(TextKind(op))
	}
}

func (w *world) stateOf(n *node, at recordAt) state {
	st, ok := w.states[at]
	if !ok {
		w.Fatalf("member %d has record %d of term %d last, behind which no leader ended a transaction", n.id, at.lsn, at.term)
	}
	return st
}

// same compares what a follower has in memory with what the leader had behind its last record.
func (n *node) same(when string) {
	n.w.Helper()
	if n.leads || n.w.states == nil {
		return
	}
	at := n.newest()
	st := n.w.stateOf(n, at)
	m := st.m.clone()
	diff := ""
	if st.exact {
		diff = m.diff(n.s)
	} else {
		diff = m.weakDiff(n.s)
	}
	for op, told := range n.told {
		if l := n.s.catalog.Of(op); diff == "" && !maps.Equal(told, l.Copy()) {
			diff = fmt.Sprintf("the server was told of %q %q, the store has %q", l.What, told, l.Copy())
		}
	}
	if diff != "" {
		n.w.Fatalf("member %d, %s, at record %d of term %d: %s", n.id, when, at.lsn, at.term, diff)
	}
	checkAccounts(n.w, n.s)
}

// weakDiff is diff of a store that may still count keys that are over.
func (m *model) weakDiff(s *Store) (diff string) {
	var set Shards
	set.AddAll()
	tx := s.NewTx()
	tx.Lock(&set, m.now)
	defer tx.Unlock()
	for i, db := range m.dbs {
		tx.Select(i)
		n := 0
		tx.Databases().Keys(func(key []byte) bool { n++; return true })
		if n != len(db) {
			return fmt.Sprintf("database %d has %d keys, want %d", i, n, len(db))
		}
		for key, want := range db {
			if d := diffKey(tx, key, want); d != "" {
				return fmt.Sprintf("database %d, key %.20s: %s", i, key, d)
			}
		}
	}
	return m.diffTexts(s)
}
