package main

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// Slots of a cluster with several databases move between groups, there and back, while clients write in three of them. Nothing is lost,
// and each key is in its database, at one group.
func TestSlotsMoveWithTheKeysOfAllDatabases(t *testing.T) {
	s := newShards(t)
	s.mastersWith([]string{"--cluster-databases", "4"}, "0-8191", "8192-16383")
	s.ok()
	w := countIn(t, 3, 6, s.base, s.base+1)
	w.progress(1000)
	_, ids := s.owners(0)
	s.move([]int{0}, []int{1}, these(0, 4000))
	s.until(0, "CLUSTER GETSLOTMIGRATIONS", "success")
	w.progress(300)
	task := s.call(0, "CLUSTER MIGRATION IMPORT 0 1999 9000 9999")
	s.until(0, "CLUSTER MIGRATION STATUS ID "+task, "state completed")
	w.progress(300)
	s.until(1, "CLUSTER SETSLOT 8192 MIGRATING "+ids[s.address(0)], "OK") // as redis-cli --cluster reshard
	s.until(0, "CLUSTER SHARDS", "8192")
	w.progress(300)
	if n := w.errors.Load(); n > 0 {
		t.Errorf("%d calls failed", n)
	}
	w.check(s)
	s.agree(2, 2*counterKeys) // which counts those of database 0
	for db, want := range []int{2 * counterKeys, 2 * counterKeys, 2 * counterKeys, 0} {
		sum := 0
		for i := range s.up {
			n, err := strconv.Atoi(s.callIn(i, db, "DBSIZE"))
			if sum += n; err != nil {
				t.Error(err)
			}
		}
		if sum != want {
			t.Errorf("database %d has %d keys, want %d", db, sum, want)
		}
	}
}

// A server that has one database, and one that is of a version before several, take slots from one that has three as long as their keys
// are in database 0. They are given none that has a key in another one, and nothing of these is lost or in another database.
func TestServersWithOneDatabaseAreNotGivenOthers(t *testing.T) {
	s := newShards(t)
	for i, program := range []string{binary, binary, older(t)} {
		args := []string{"--cluster-enabled", "yes", "--cluster-slots", thirds[i], "--cluster-peers", s.address(0) + " " + s.address(1) + " " + s.address(2)}
		if i == 0 {
			args = append(args, "--cluster-databases", "3")
		}
		s.runProgram(program, i, args...)
	}
	for i := range s.up {
		s.up[i].await(t)
	}
	s.ok()
	for db, lines := range map[int][]string{0: {"SET b zero", "SET free zero"}, 2: {"SET b two"}} { // of the slots 3300 and 255
		for _, line := range lines {
			if got := s.callIn(0, db, line); got != "OK" {
				t.Fatalf("%s: %s", line, got)
			}
		}
	}
	for to := 1; to <= 2; to++ {
		s.move([]int{0}, []int{to}, these(3300, 3300))
		got := ""
		for end := time.Now().Add(time.Minute); strings.Count(got, "state failed") < to && time.Now().Before(end); {
			got = s.call(0, "CLUSTER GETSLOTMIGRATIONS")
		}
		if want := "slot 3300 has keys in database 2, and the server that is to get it has databases up to 0"; strings.Count(got, want) != to {
			t.Errorf("to server %d: %s, want %s", to, got, want)
		}
		if got := s.callIn(0, 2, "GET b"); got != "two" {
			t.Errorf("the key has %s", got)
		}
	}
	s.move([]int{0}, []int{2}, these(255, 255))
	s.until(0, "CLUSTER GETSLOTMIGRATIONS", "success")
	if got := s.call(2, "GET free"); got != "zero" {
		t.Errorf("the key of database 0 is %q at the older server", got)
	}
	s.move([]int{2}, []int{0}, these(255, 255))
	s.until(2, "CLUSTER GETSLOTMIGRATIONS", "success")
	if got := s.call(0, "GET free"); got != "zero" {
		t.Errorf("the key of database 0 is %q when it is back", got)
	}
}
