package conn

import (
	"strings"

	"github.com/vigildb/vigil/commands"
)

// ClientFilter chooses clients for CLIENT LIST and CLIENT KILL: those that meet all
// conditions. The zero value chooses all.
type ClientFilter struct {
	Conditions []ClientCondition
	SkipMe     bool
}

// ClientCondition is something that a client has to be, or with Not must not be.
type ClientCondition struct {
	Field ClientField
	Not   bool
	Value string   // of the fields that are text; the letters of ByFlags and ByCapa
	N     int64    // of ByDB, and the seconds of ByIdle and ByAge, which are minima
	IDs   []uint64 // of ByID
}

// ClientField is what a condition looks at.
type ClientField uint8

const (
	ByID ClientField = iota
	ByType
	ByUser
	ByAddr
	ByLocalAddr
	ByIP
	ByName
	ByLibName
	ByLibVersion
	ByDB
	ByFlags
	ByCapa
	ByIdle
	ByAge
)

// clientFields are the words of filters. Those that are positive have no NOT- form.
var clientFields = map[string]ClientField{"ID": ByID, "TYPE": ByType, "USER": ByUser, "ADDR": ByAddr, "LADDR": ByLocalAddr, "IP": ByIP,
	"NAME": ByName, "LIB-NAME": ByLibName, "LIB-VER": ByLibVersion, "DB": ByDB, "FLAGS": ByFlags, "CAPA": ByCapa, "IDLE": ByIdle, "MAXAGE": ByAge}

const (
	// clientLetters are the flags that Valkey knows, with those that no client has here.
	clientLetters = "OSMPxbtRBdcuAUreTIiEN"
	capaLetters   = "r"
	// longestWord is the length of the longest of clientFields, with NOT-.
	longestWord = len("NOT-LIB-NAME")
)

// readFilter reads what is left of a call. badID is the error for what is no ID in its
// first place, and minID the smallest one.
func readFilter(c *commands.Ctx, f *ClientFilter, badID error, minID int64) {
	a := &c.Args
	for a.More() && a.Err() == nil {
		word := a.Bytes()
		name := strings.ToUpper(string(word[:min(len(word), longestWord+1)]))
		positive, not := strings.CutPrefix(name, "NOT-")
		field, known := clientFields[positive]
		switch {
		case !a.More():
			a.Syntax()
		case name == "SKIPME":
			f.SkipMe = readChoice(c, "YES", "NO")
		case !known || not && field >= ByIdle:
			a.Syntax()
		default:
			x := ClientCondition{Field: field, Not: not}
			if field == ByID && not {
				x.readIDs(a, commands.ErrSyntax, 1)
			} else if field == ByID {
				x.readIDs(a, badID, minID)
			} else {
				x.read(c, name)
			}
			f.add(x)
		}
	}
}

// add adds a condition, in place of the one for the same word.
func (f *ClientFilter) add(x ClientCondition) {
	for i := range f.Conditions {
		if o := &f.Conditions[i]; o.Field == x.Field && o.Not == x.Not {
			*o = x
			return
		}
	}
	f.Conditions = append(f.Conditions, x)
}

// readIDs reads a number and those that follow it.
func (x *ClientCondition) readIDs(a *commands.Args, bad error, smallest int64) {
	for first := true; a.More(); first = false {
		n, ok := commands.ParseInt(a.Peek())
		switch {
		case !ok && first:
			a.Fail(bad)
			return
		case !ok:
			return
		case n < smallest:
			a.Fail(errClientIDRange)
			return
		}
		a.Skip(1)
		x.IDs = append(x.IDs, uint64(n))
	}
}

// read reads the value of a condition; word is its word, which errors name.
func (x *ClientCondition) read(c *commands.Ctx, word string) {
	a := &c.Args
	switch x.Field {
	case ByType:
		x.Value = readClientType(c)
	case ByUser:
		if x.Value = a.String(); a.Err() == nil && !c.Host.(Login).HasUser(x.Value) {
			a.Fail(errNoSuchUser(x.Value))
		}
	case ByDB:
		last := int64(c.Host.Limits().Databases) - 1
		x.N = a.IntOr(errFilterDB(word))
		if a.Err() == nil && (x.N < 0 || x.N > last) {
			a.Fail(errFilterDBRange(word, last))
		}
	case ByFlags:
		x.readLetters(a, word, clientLetters, "flags")
	case ByCapa:
		x.readLetters(a, word, capaLetters, "capa")
	case ByIdle:
		x.readSeconds(a, errIdle, errIdleRange)
	case ByAge:
		x.readSeconds(a, errMaxAge, errMaxAgeRange)
	default:
		x.Value = a.String()
	}
}

func (x *ClientCondition) readLetters(a *commands.Args, word, known, what string) {
	x.Value = a.String()
	if strings.Trim(x.Value, known) != "" {
		a.Fail(errFilterLetters(word, x.Not, what, x.Value))
	}
}

func (x *ClientCondition) readSeconds(a *commands.Args, bad, notPositive error) {
	if x.N = a.IntOr(bad); a.Err() == nil && x.N <= 0 {
		a.Fail(notPositive)
	}
}

// readClientType reads a type of client; "slave" and "master" are old words.
func readClientType(c *commands.Ctx) string {
	word := c.Args.Bytes()
	for _, t := range []struct{ word, name string }{
		{"NORMAL", "normal"}, {"MASTER", "master"}, {"PRIMARY", "master"}, {"REPLICA", "replica"},
		{"SLAVE", "replica"}, {"PUBSUB", "pubsub"},
	} {
		if commands.EqualFold(word, t.word) {
			return t.name
		}
	}
	c.Args.Fail(errUnknownClientType(word))
	return ""
}
