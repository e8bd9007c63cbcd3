package server

import (
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/conf"
)

// The members of a group share directives that describe the data or the service, from the moment that CONFIG SET
// sets one at the leader (ADR 0078): its value is kept with the data, and goes the ways of users.

// mayShare reports whether CONFIG SET of a shared directive counts for all members of the group. While there may be
// members of a version that does not read this it counts for its own member, as in that version.
func (srv *Server) mayShare() bool {
	return srv.opts.Group != nil && srv.store.Level() >= persistence.LevelTold
}

// changesDirectives reports whether a call sets a shared directive.
func (sh *sharing) changesDirectives(cmd *commands.Command, argv [][]byte) bool {
	return sh.s.srv.mayShare() && slices.ContainsFunc(cmd.Directives(argv), func(name []byte) bool { return sh.s.srv.config.Shared(string(name)) })
}

// keepSet keeps with the data of the group what a CONFIG SET of pairs changes of it: users, and shared directives. The call
// holds the lock of AddTexts.
func (sh *sharing) keepSet(pairs []string, shared []conf.Pair) error {
	s := sh.s
	if s.tx.RecordBytes() > maxTransaction {
		return commands.ErrQueueTooLong
	}
	if err := sh.keepPassword(pairs); err != nil {
		return err
	}
	for _, p := range shared {
		if value, ok := s.tx.Texts(persistence.Directives).Get(p.Name); !ok || value != p.Value {
			s.tx.Texts(persistence.Directives).Set(p.Name, p.Value)
			sh.kept = true
		}
	}
	return s.tx.Err()
}

// Unshare gives each member its own values of directives again. All are examined before one is changed.
func (sh *sharing) Unshare(directives []string) error {
	s := sh.s
	names := make([]string, len(directives))
	for i, d := range directives {
		name, ok := s.srv.config.SharedName(d)
		switch {
		case name == replicaOf:
			return commands.Errorf("ERR '%.128s' ends with REPLICAOF NO ONE", d)
		case !ok && s.srv.config.Known(d):
			return commands.Errorf("ERR '%.128s' is each member's own", d)
		case !ok:
			return commands.Errorf("ERR Unknown parameter '%.128s'", d)
		}
		names[i] = name
	}
	if !sh.held {
		return errNothingShared
	}
	changed := names[:0]
	for _, name := range names {
		if _, ok := s.tx.Texts(persistence.Directives).Get(name); ok {
			s.tx.Texts(persistence.Directives).Delete(name)
			sh.kept = true
			changed = append(changed, name)
		}
	}
	if err := s.tx.Err(); err != nil {
		return err
	}
	if len(changed) > 0 {
		s.srv.takeConfiguration(nil, changed)
	}
	return nil
}

// errNothingShared is the error of UNSHARE in a group whose members do not share directives yet.
const errNothingShared = commands.WireError("ERR The group shares no parameters before VIGIL.CLUSTER UPGRADE")

// takeConfiguration takes directives over from the store: some by name, or all with nil. It is called with all shards
// locked, or before the server takes part in its group.
func (srv *Server) takeConfiguration(values map[string]string, changed []string) {
	srv.config.Take(values, changed, func(name string, err error) {
		srv.logf(logWarning, "Directive %.100q of the group does not count here: %.200v", name, err)
	})
}

// recallConfiguration makes the values of directives those that the data has, if it has any.
func (srv *Server) recallConfiguration() {
	if srv.opts.Group == nil {
		return
	}
	if values := srv.store.Texts(persistence.Directives); len(values) > 0 {
		srv.takeConfiguration(values, nil)
	}
}

// reportConfiguration says which directives of the configuration do not count.
func (srv *Server) reportConfiguration() {
	if names := srv.config.Overruled(); len(names) > 0 {
		srv.logf(logNotice, "The group has other values of these directives than the configuration, which do not count: %s", strings.Join(names, ", "))
	}
}
