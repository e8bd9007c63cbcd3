package acl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// maxDatabase is the greatest number of a database that a rule may name. There need not be so many.
const maxDatabase = 1<<31 - 1

// setDatabases is db=0,3: the databases that the selector allows, in place of others.
func (s *selector) setDatabases(list string) error {
	var databases []int
	for word := range strings.SplitSeq(list, ",") {
		n, ok := commands.ParseInt([]byte(word))
		switch {
		case !ok:
			return errRuleSyntax
		case n < 0 || n > maxDatabase:
			return errDatabaseRange
		case len(databases) >= maxPatterns:
			return errTooMany
		}
		databases = append(databases, int(n))
	}
	slices.Sort(databases)
	s.someDatabases, s.databases = true, slices.Compact(databases)
	return nil
}

// databaseRules describes the databases: "alldbs", "db=0,3", or nothing.
func (s *selector) databaseRules() string {
	if !s.someDatabases {
		return "alldbs"
	}
	var b []byte
	for i, n := range s.databases {
		if b = append(b, ','); i == 0 {
			b = append(b[:0], "db="...)
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return string(b)
}

func (s *selector) allowsDatabase(n int) bool {
	_, ok := slices.BinarySearch(s.databases, n)
	return ok
}

// checkDatabases looks at the database of the connection and at those that a call names.
func (s *selector) checkDatabases(db int, cmd *commands.Command, argv [][]byte) (d Denial, ok bool) {
	if cmd.OfDatabase() && !s.allowsDatabase(db) {
		return Denial{Reason: DeniedDatabase}, false
	}
	if cmd.Databases == nil {
		return Denial{}, true
	}
	for _, i := range cmd.Databases(argv) {
		if i >= len(argv) {
			continue
		}
		n, isNumber := commands.ParseInt(argv[i])
		switch {
		case i == 0: // all of them
			return Denial{Reason: DeniedDatabase}, false
		case isNumber && (n < 0 || n > maxDatabase || !s.allowsDatabase(int(n))):
			return Denial{Reason: DeniedDatabase, Index: i}, false
		}
	}
	return Denial{}, true
}

// NamesDatabases reports whether rules, as a text, are about databases: versions before know no such rules.
func NamesDatabases(rules string) bool {
	for word := range strings.FieldsSeq(rules) {
		if word = strings.TrimLeft(word, "("); strings.HasPrefix(word, "db=") || strings.TrimRight(word, ")") == "resetdbs" {
			return true
		}
	}
	return false
}
