package importer

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// Expiries that count from now are said as times; all else stays.
func TestRelativeExpiriesBecomeTimes(t *testing.T) {
	for call, want := range map[string]string{
		"EXPIRE k 10 NX":               "PEXPIREAT k 11000 NX",
		"pexpire k -10":                "PEXPIREAT k 990",
		"SETEX k 10 v":                 "SET k v PXAT 11000",
		"PSETEX k 10 v":                "SET k v PXAT 1010",
		"SET k EX EX 1":                "SET k EX PXAT 2000",
		"SET k v NX px 1":              "SET k v NX PXAT 1001",
		"GETEX k PX 5":                 "GETEX k PXAT 1005",
		"HEXPIRE h 1 FIELDS 1 f":       "HPEXPIREAT h 2000 FIELDS 1 f",
		"SET k v":                      "SET k v",
		"SET k v PXAT 5":               "SET k v PXAT 5",
		"EXPIRE k x":                   "EXPIRE k x",
		"EXPIRE k 9223372036854775807": "EXPIRE k 9223372036854775807",
		"EXPIRE k":                     "EXPIRE k",
		"GET EX":                       "GET EX",
	} {
		var args [][]byte
		for _, word := range strings.Fields(call) {
			args = append(args, []byte(word))
		}
		if got := string(bytes.Join(Absolute(args, 1000), []byte(" "))); got != want {
			t.Errorf("%s: got %s, want %s", call, got, want)
		}
	}
}

// The first error of a reply is found wherever it stands, and the reader is behind the reply then.
func TestErrorsAreFoundInReplies(t *testing.T) {
	for reply, want := range map[string]string{
		"+OK\r\n": "", ":1\r\n": "", "$-1\r\n": "", "$3\r\n-ab\r\n": "", "*-1\r\n": "", "*0\r\n": "",
		"-ERR no\r\n": "ERR no", "*3\r\n:1\r\n*1\r\n-ERR in\r\n-ERR later\r\n": "ERR in",
	} {
		in := bufio.NewReader(strings.NewReader(reply + "+next\r\n"))
		got, err := readReply(in, 0)
		next, nextErr := in.ReadString('\n')
		if got != want || err != nil || next != "+next\r\n" || nextErr != nil {
			t.Errorf("%q: got %q, %v, then %q", reply, got, err, next)
		}
	}
	for _, reply := range []string{"", "x\r\n", "$x\r\n", "\r\n", strings.Repeat("*1\r\n", 100), "*2\r\n:1\r\n"} {
		if _, err := readReply(bufio.NewReader(strings.NewReader(reply)), 0); err == nil {
			t.Errorf("%.20q: no error", reply)
		}
	}
}
