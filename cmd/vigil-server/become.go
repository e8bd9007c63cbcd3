package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/membership"
)

// What --become makes of a store.
const (
	becomeMember = "member"
	becomeAlone  = "alone"
)

// becomeMode checks the argument of --become, and that nothing else is asked for.
func (m *modes) becomeMode() error {
	switch {
	case m.become == "":
		return nil
	case m.become != becomeMember && m.become != becomeAlone:
		return fmt.Errorf("--become %s: there are only --become member and --become alone", m.become)
	case m.check || m.doctor || m.ping || m.snapshot != "" || m.transfer.path != "" || m.alone || m.recover != 0:
		return errors.New("--become: beside directives only")
	}
	return nil
}

// becomeOther makes the store of a configuration, which no server has open, that of a member, or one that is alone.
func becomeOther(what string, set *conf.Settings, out io.Writer) error {
	o := persistence.Options{Dir: set.Dir, Databases: max(set.Databases, set.ClusterDatabases),
		DerivedMaxMemory: cmp.Or(set.MaxMemory, derivedMaxMemory(set, findMemoryLimit(os.DirFS("/"))))}
	var err error
	switch what {
	case becomeMember:
		err = persistence.BecomeMember(o)
	default:
		err = membership.BecomeAlone(o, func(users, directives map[string]string) error {
			return keepShared(set.Dir, users, directives, out)
		})
	}
	var kind persistence.WrongKindError
	switch {
	case errors.As(err, &kind) && kind.Member:
		return &exitStatus{statusNotRun, fmt.Errorf("%s: the store is that of a member of a group already", set.Dir)}
	case errors.As(err, &kind):
		return &exitStatus{statusNotRun, fmt.Errorf("%s: the store is alone already", set.Dir)}
	case errors.Is(err, persistence.ErrFollows):
		err = fmt.Errorf("%w: start the server once more, and send REPLICAOF NO ONE", err)
	case err == nil && what == becomeMember:
		fmt.Fprintln(out, "the store founds a group with its keys when the server starts with cluster-secret, and with cluster-enabled yes or with this server alone in cluster-members")
	case err == nil:
		fmt.Fprintln(out, "the store is alone: its directory is no member of the group any more")
	}
	if err != nil {
		return &exitStatus{statusNotRun, advise(err, set.Dir)}
	}
	return nil
}

// Files for what a group had in common and a server alone has in files of its own.
const (
	usersOfGroup      = "group-users.acl"
	directivesOfGroup = "group-directives.txt"
)

// keepShared writes the users and the directives of a group into files of the directory: in the form of aclfile, and as calls for redis-cli.
func keepShared(dir string, users, directives map[string]string, out io.Writer) error {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(users)) {
		lines = append(lines, "user "+name+" "+users[name])
	}
	err := keepLines(dir, usersOfGroup, lines, out, "users of the group: %d, in %s, for aclfile; without it the server begins without them\n")
	if err != nil {
		return err
	}
	lines = nil
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		if name == "replicaof" { // which CONFIG SET cannot set
			lines = append(lines, "REPLICAOF "+directives[name])
			continue
		}
		lines = append(lines, string(commands.AppendQuoted([]byte("CONFIG SET "+name+" "), []byte(directives[name]))))
	}
	return keepLines(dir, directivesOfGroup, lines, out, "directives of the group: %d, in %s, for redis-cli, and CONFIG REWRITE behind them\n")
}

// keepLines writes a file, which is on the device then, and says how many lines are in which file, unless there are none.
func keepLines(dir, name string, lines []string, out io.Writer, says string) error {
	if len(lines) == 0 {
		return nil
	}
	path := filepath.Join(dir, name)
	err := conf.ReplaceFile(path, []byte(strings.Join(lines, "\n")+"\n"))
	if err == nil {
		fmt.Fprintf(out, says, len(lines), path)
	}
	return err
}
