package integration

import (
	"context"
	"testing"
)

// The session of docs/json.md, by the methods that go-redis has for documents.
func TestJSONDocumentsWithGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		rdb, _ := start(t, protocol)
		ctx := context.Background()
		if got, err := rdb.JSONSet(ctx, "s", "$", `{"user":{"name":"Ada"},"hits":0,"cart":[]}`).Result(); err != nil || got != "OK" {
			t.Fatalf("protocol %d: JSON.SET: %q, %v", protocol, got, err)
		}
		if got, err := rdb.JSONNumIncrBy(ctx, "s", "$.hits", 1).Result(); err != nil || got != "[1]" {
			t.Errorf("protocol %d: JSON.NUMINCRBY: %q, %v", protocol, got, err)
		}
		if got, err := rdb.JSONArrAppend(ctx, "s", "$.cart", `{"sku":"A","qty":1}`, `{"sku":"B","qty":2}`).Result(); err != nil || len(got) != 1 || got[0] != 2 {
			t.Errorf("protocol %d: JSON.ARRAPPEND: %v, %v", protocol, got, err)
		}
		if got, err := rdb.JSONMerge(ctx, "s", "$", `{"theme":"dark"}`).Result(); err != nil || got != "OK" {
			t.Errorf("protocol %d: JSON.MERGE: %q, %v", protocol, got, err)
		}
		if got, err := rdb.JSONGet(ctx, "s", "$.cart[?(@.qty>1)].sku").Result(); err != nil || got != `["B"]` {
			t.Errorf("protocol %d: JSON.GET: %q, %v", protocol, got, err)
		}
		if got, err := rdb.JSONObjKeys(ctx, "s", "$").Result(); err != nil || len(got) != 1 || len(got[0].([]any)) != 4 {
			t.Errorf("protocol %d: JSON.OBJKEYS: %v, %v", protocol, got, err)
		}
		if got, err := rdb.JSONType(ctx, "s", "$.hits").Result(); err != nil || len(got) != 1 {
			t.Errorf("protocol %d: JSON.TYPE: %v, %v", protocol, got, err)
		}
		if got, err := rdb.JSONArrPop(ctx, "s", "$.cart", 0).Result(); err != nil || len(got) != 1 || got[0] != `{"sku":"A","qty":1}` {
			t.Errorf("protocol %d: JSON.ARRPOP: %q, %v", protocol, got, err)
		}
		if got, err := rdb.JSONDel(ctx, "s", "$").Result(); err != nil || got != 1 {
			t.Errorf("protocol %d: JSON.DEL: %d, %v", protocol, got, err)
		}
	}
}
