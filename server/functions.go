package server

import (
	"maps"
	"slices"

	"github.com/vigildb/vigil/commands/script/lua"
	"github.com/vigildb/vigil/persistence"
)

// ChangeLibraries puts what change returns in the place of the libraries of functions, in
// the store and in the engine. The call is inside the gate of scripts, so that there is
// one change at a time.
func (x *scripting) ChangeLibraries(change func(now *lua.Libraries, memory int64) (*lua.Libraries, error)) error {
	s := x.s
	e := s.srv.scripts.engine
	now := e.Libraries()
	next, err := change(now, s.srv.settings().conf.LuaMemoryLimit)
	if err != nil {
		return err
	}
	need := s.shards
	need.AddTexts()
	s.tx.Extend(&need)
	s.shards = need
	if err := s.tx.Err(); err != nil {
		return err
	}
	if x.former == nil {
		x.former = now
	}
	x.keepLibraries(now, next)
	e.SetLibraries(next)
	return nil
}

// keepLibraries changes the libraries of the store.
func (x *scripting) keepLibraries(now, next *lua.Libraries) {
	if n, _ := next.Len(); n == 0 {
		x.s.tx.Texts(persistence.Libraries).Clear()
		return
	}
	for _, lib := range now.Sorted() {
		if next.Get(lib.Name) == nil {
			x.s.tx.Texts(persistence.Libraries).Delete(lib.Name)
		}
	}
	for _, lib := range next.Sorted() {
		if old := now.Get(lib.Name); old == nil || old.Code != lib.Code {
			x.s.tx.Texts(persistence.Libraries).Set(lib.Name, lib.Code)
		}
	}
}

// loadLibraries gives the libraries of the store to the engine. One that cannot be loaded
// stays in the store.
func (q *scripts) loadLibraries() {
	e, sources, set := q.engine, q.srv.store.Texts(persistence.Libraries), lua.NewLibraries()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if _, err := e.AddLibrary(set, sources[name], false, q.srv.settings().conf.LuaMemoryLimit); err != nil {
			q.srv.logf(logWarning, "Library %s was not loaded: %v", name, err)
		}
	}
	e.SetLibraries(set)
}
