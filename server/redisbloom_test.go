package server

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestPayloadsOfRedisBloomAnswerAsTheyDidThere restores what RedisBloom of June 2026 dumped in Redis 7.4.1, from keys that
// were made for it, and compares all replies. What vigil dumps of it is restored again and gives
// the same replies.
func TestPayloadsOfRedisBloomAnswerAsTheyDidThere(t *testing.T) {
	text, err := os.ReadFile("testdata/redisbloom.json")
	if err != nil {
		t.Fatal(err)
	}
	var known struct {
		Payloads map[string]string
		Replies  [][2]any
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&known); err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	c := r.dial()
	for key, payload := range known.Payloads {
		b, err := hex.DecodeString(payload)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.do("RESTORE", key, "0", string(b)); got != "OK" {
			t.Fatalf("RESTORE %s: %s", key, got)
		}
	}
	for _, again := range []string{"", "again:"} {
		if again != "" {
			for key := range known.Payloads {
				dump, err := strconv.Unquote(c.do("DUMP", key))
				if err != nil {
					t.Fatal(err)
				}
				if got := c.do("RESTORE", again+key, "0", dump); got != "OK" {
					t.Fatalf("RESTORE %s: %s", again+key, got)
				}
			}
		}
		for _, pair := range known.Replies {
			var call []string
			for _, word := range pair[0].([]any) {
				call = append(call, word.(string))
			}
			call[1] = again + call[1]
			if got, want := plainReply(c.do(call...)), plainKnown(pair[1]); got != want {
				t.Errorf("%.100q: got %.300s, want %.300s", call, got, want)
			}
		}
	}
	if got := c.do("TDIGEST.QUANTILE", "td:one", "0.5"); got != `["5"]` {
		t.Errorf("one value of a payload that lacks it: got %s", got)
	}
}

// plainReply is a reply without what tells strings and numbers apart.
func plainReply(reply string) string {
	return strings.NewReplacer(`"`, "", "/", "", "(int) ", "").Replace(reply)
}

// plainKnown is a known reply in the form of plainReply.
func plainKnown(reply any) string {
	switch reply := reply.(type) {
	case nil:
		return "(nil)"
	case []any:
		var parts []string
		for _, part := range reply {
			parts = append(parts, plainKnown(part))
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(reply)
}
