package report

import (
	"context"
	"testing"
	"time"

	"github.com/vigildb/vigil/server"
)

func TestEveryFieldOfTheTablesIsInInfo(t *testing.T) {
	srv, err := server.Open(t.Context(), server.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(context.Background())
	f, err := NewSource(srv, "looker", time.Now).Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range append(redisRows(), vigilRows()...) {
		if _, ok := f.Info[m.field]; !ok {
			t.Errorf("%s is made of %s, which INFO does not have", m.name, m.field)
		}
	}
}
