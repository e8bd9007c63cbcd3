package importer

import (
	"strconv"
	"strings"
)

// Absolute returns a command whose expiry counts from now, in unix ms, as one that says when: the clock of the server that runs it says something
// else. Redis has written such commands until version 7.0.
func Absolute(args [][]byte, now int64) [][]byte {
	name := strings.ToUpper(string(args[0][:min(len(args[0]), 16)]))
	at := func(i int, unit int64) []byte { // nil: not a number, which the command refuses
		n, err := strconv.ParseInt(string(args[i]), 10, 64)
		if err != nil || n > (1<<62)/unit-now || n < -(1<<62)/unit {
			return nil
		}
		return strconv.AppendInt(nil, now+n*unit, 10)
	}
	unit := int64(1)
	switch name {
	case "EXPIRE", "SETEX", "HEXPIRE":
		unit = 1000
	}
	switch {
	case (name == "EXPIRE" || name == "PEXPIRE") && len(args) >= 3:
		return replaced(args, "PEXPIREAT", 2, at(2, unit))
	case (name == "HEXPIRE" || name == "HPEXPIRE") && len(args) >= 3:
		return replaced(args, "HPEXPIREAT", 2, at(2, unit))
	case (name == "SETEX" || name == "PSETEX") && len(args) == 4:
		if when := at(2, unit); when != nil {
			return [][]byte{[]byte("SET"), args[1], args[3], []byte("PXAT"), when}
		}
	case name == "SET" || name == "GETEX":
		first := 3
		if name == "GETEX" {
			first = 2
		}
		for i := first; i+1 < len(args); i++ {
			switch option := strings.ToUpper(string(args[i][:min(len(args[i]), 8)])); option {
			case "EX", "PX":
				unit := map[string]int64{"EX": 1000, "PX": 1}[option]
				next := replaced(args, name, i+1, at(i+1, unit))
				next[i] = []byte("PXAT")
				return next
			}
		}
	}
	return args
}

// replaced returns a command with another name and another argument, the command itself if that is nil.
func replaced(args [][]byte, name string, i int, arg []byte) [][]byte {
	next := append([][]byte(nil), args...)
	if arg != nil {
		next[0], next[i] = []byte(name), arg
	}
	return next
}
