package server

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/server/source"
)

// NewestChange returns the position behind all changes up to now, for consumers that keep positions by themselves.
func (h host) NewestChange() (string, error) {
	if !h.srv.leads() {
		return "", commands.ErrFollowerNoChanges
	}
	at, err := h.srv.source.Newest()
	if err != nil {
		return "", changesError(err)
	}
	return at.String(), nil
}

// Changes returns changes behind a position.
func (h host) Changes(from string, q *admin.ChangeQuery) (admin.ChangesRead, error) {
	if !h.srv.leads() {
		return admin.ChangesRead{}, commands.ErrFollowerNoChanges
	}
	at, err := source.ParsePosition(from)
	if err != nil {
		return admin.ChangesRead{}, changesError(err)
	}
	read, err := h.srv.source.Changes(at, &source.Query{DBs: q.DBs, Prefixes: q.Prefixes, Count: q.Count, KeysOnly: q.KeysOnly})
	if err != nil {
		return admin.ChangesRead{}, changesError(err)
	}
	found := make([]admin.Change, len(read.Changes))
	for i, o := range read.Changes {
		found[i] = admin.Change(o)
	}
	return admin.ChangesRead{Next: read.Next.String(), Changes: found, Behind: read.Behind}, nil
}

// changesError is an error as consumers see it.
func changesError(err error) error {
	switch {
	case errors.Is(err, source.ErrGone):
		return commands.ErrChangesGone
	case errors.Is(err, source.ErrNoPosition):
		return commands.ErrChangesPosition
	}
	return err
}
