package server

import (
	"strings"
	"testing"
)

// What a call that has released its locks finds to be an error is the whole reply, whatever was written before, and is counted as one that
// it finds under them. Calls before and behind it in a pipeline are as always.
func TestErrorThatIsFoundBehindTheLocksIsTheWholeReply(t *testing.T) {
	r := newRig(t)
	c := r.dial().hello3()
	deep := strings.Repeat(`{"a":[1,`, 60) + "1" + strings.Repeat("]}", 60)
	if got := c.do("JSON.SET", "k", "$", `{"d":`+deep+`,"s":"`+strings.Repeat("x", 2<<20)+`"}`); got != "OK" {
		t.Fatal(got)
	}
	c.want("CONFIG RESETSTAT", "OK")
	path := "$" + strings.Repeat("..*", 12)
	for _, call := range []string{"JSON.TYPE", "JSON.STRLEN", "JSON.GET"} {
		c.raw(encode("ECHO", "before") + encode(call, "k", path) + encode("ECHO", "behind"))
		c.next(`"before"`)
		c.next("(error) ERR path visits too many values")
		c.next(`"behind"`)
	}
	if got := c.do("INFO", "errorstats"); !strings.Contains(got, "errorstat_ERR:count=3") {
		t.Errorf("counted: %s", got)
	}
	if got := c.do("INFO", "commandstats"); !strings.Contains(got, "cmdstat_json.type:calls=1,") || strings.Count(got, "failed_calls=1") != 3 {
		t.Errorf("counted: %s", got)
	}
}
