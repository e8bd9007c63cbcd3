package member

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/tail"
)

// Runs of entries leave what the last of them say, whatever they replace, or an error.
func TestLaterRunsReplaceEntries(t *testing.T) {
	runs := func(text string) (chunks []tail.Chunk) {
		for _, s := range strings.Fields(text) { // first:terms
			c := tail.Chunk{First: uint64(s[0] - '0')}
			for _, term := range s[2:] {
				c.Records = append(binary.LittleEndian.AppendUint32(c.Records, 2), byte(term-'0'), 0, 0, 0, 0, 0, 0, 0, 2, byte(term), '!')
			}
			chunks = append(chunks, c)
		}
		return chunks
	}
	for text, want := range map[string]string{
		"":                  "",
		"3:111":             "3:111",
		"3:111 6:11":        "3:11111",
		"3:111 5:2":         "3:112",
		"3:111 4:2 5:2":     "3:122",
		"3:111 2:2":         "2:2",
		"3:111 2:2 3:33":    "2:233",
		"3:1 1:2 1:3 2:333": "1:3333",
		"3:111 7:1":         "missing",
		"3:1 1:2 3:1":       "missing",
	} {
		got := ""
		entries, err := foldKept(runs(text))
		for i, e := range entries {
			if i == 0 {
				got = fmt.Sprintf("%d:", e.Index)
			}
			if got += fmt.Sprint(e.Term); e.Index != entries[0].Index+uint64(i) || e.Type != 2 || !bytes.Equal(e.Data, []byte{byte('0' + e.Term), '!'}) {
				t.Errorf("%s: %+v", text, e)
			}
		}
		if err != nil {
			got = "missing"
		}
		if got != want || err != nil && !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%s: %s, want %s; %v", text, got, want, err)
		}
	}
	for cut := range 14 {
		bad := runs("3:1")
		bad[0].Records = bad[0].Records[:1+cut]
		if _, err := foldKept(bad); !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%d bytes of a run: %v", 1+cut, err)
		}
	}
}
