package replica

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The whole data comes, then the stream; what was applied of it is acknowledged each second, and when it is asked for.
func TestFollowingBeginsWithTheWholeData(t *testing.T) {
	for _, marked := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.start()
			m := r.connected()
			if marked {
				mark := strings.Repeat("m", marker)
				m.hello()
				m.want("PSYNC ? -1")
				m.send("\n\n+FULLRESYNC " + idA + " 1000\r\n\n\n$EOF:" + mark + "\r\nkeys" + mark + ";" + mark)
			} else {
				m.give("keys;", 1000)
			}
			m.want("REPLCONF ACK 1000")
			if st := r.f.Status(); st.State != Connected || st.Offset != 1000 || !st.Up() || !st.Down.IsZero() {
				t.Errorf("status %+v", st)
			}
			set := command("SELECT", "3") + command("SET", "k", "v")
			m.send(set)
			m.want(fmt.Sprintf("REPLCONF ACK %d", 1000+len(set)))
			m.send("\n\n\n" + command("PING"))
			at := 1000 + len(set) + 3 + len(command("PING"))
			m.send(command("replconf", "getack", "*"))
			m.want(fmt.Sprintf("REPLCONF ACK %d", at)) // it excludes itself
			at += len(command("replconf", "getack", "*"))
			m.want(fmt.Sprintf("REPLCONF ACK %d", at))
			want := "keys;3 SET k v"
			if marked {
				want = "keys" + strings.Repeat("m", marker) + ";3 SET k v"
			}
			if got := r.data.has(); got != want {
				t.Errorf("the data is %q, want %q", got, want)
			}
		})
	}
}

// A connection that was cut anywhere goes on where the data is, and each command counts once.
func TestFollowingGoesOnWhereTheDataIs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.start()
		m := r.connected()
		m.give("keys;", 0)
		m.want("REPLCONF ACK 0")
		first := command("SET", "a", "1")
		m.send(first + "*2\r\n$4\r\nINC") // within a command
		_ = m.nc.Close()
		time.Sleep(time.Second) // which passes at once
		m = r.connected()
		m.hello()
		m.want(fmt.Sprintf("PSYNC %s %d", idA, len(first)+1))
		m.send("+CONTINUE\r\n")
		m.want(fmt.Sprintf("REPLCONF ACK %d", len(first)))
		second := command("MULTI") + command("INCR", "a")
		m.send(second) // within a transaction
		synctest.Wait()
		if st := r.f.Status(); st.Offset != int64(len(first)) || st.Read != int64(len(first)+len(second)) {
			t.Errorf("within a transaction: offset %d, read %d", st.Offset, st.Read)
		}
		_ = m.nc.Close()
		time.Sleep(time.Second)
		m = r.connected()
		m.hello()
		m.want(fmt.Sprintf("PSYNC %s %d", idA, len(first)+1))
		m.send("+CONTINUE " + idB + "\r\n")
		m.want(fmt.Sprintf("REPLCONF ACK %d", len(first)))
		m.send(second + command("SELECT", "2") + command("INCR", "b") + command("EXEC"))
		synctest.Wait()
		if got, want := r.data.has(), "keys;0 SET a 1 | 0 INCR a; 2 INCR b"; got != want {
			t.Errorf("the data is %q, want %q", got, want)
		}
		if at := r.data.Position(); at.ID != idB || at.DB != 2 {
			t.Errorf("position %+v", at)
		}
		_ = m.nc.Close()
		time.Sleep(time.Second)
		m = r.connected()
		m.hello()
		m.request()
		m.send("+FULLRESYNC " + idA + " 5\r\n$4\r\nnew;") // the master may always begin anew
		m.want("REPLCONF ACK 5")
		if got := r.data.has(); got != "new;" {
			t.Errorf("the data is %q", got)
		}
	})
}

// Masters that know only SYNC have no offsets, and are asked for everything each time.
func TestOldMastersAreAskedForEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.User, s.Password = "me", "secret" })
		r.start()
		for range 2 {
			m := r.connected()
			for _, x := range [][2]string{{"PING", "-NOAUTH no"}, {"AUTH me secret", "+OK"}, {"REPLCONF listening-port 7", "-ERR unknown"},
				{"REPLCONF capa eof capa psync2", "-ERR unknown"}, {"REPLCONF version 9.0.0", "-ERR unknown"},
				{"PSYNC ? -1", "-ERR unknown command 'PSYNC'"}, {"SYNC", "$5\r\nkeys;" + command("SET", "k", "v")}} {
				m.want(x[0])
				m.send(x[1] + "\r\n")
			}
			synctest.Wait()
			if got := r.data.has(); got != "keys;0 SET k v" {
				t.Errorf("the data is %q", got)
			}
			_ = m.nc.Close()
			time.Sleep(time.Second)
		}
	})
}

// badMasters are masters with what they send behind PSYNC ? -1, and what the log says then.
var badMasters = []struct{ name, says, log string }{
	{"garbage", "\x00\x01\x02\r\n", "reply to PSYNC"},
	{"an endless line", "+" + strings.Repeat("x", 70<<10), "a line that does not end"},
	{"a long line", "+" + strings.Repeat("x", 5000) + "\r\n", "a line that does not end"},
	{"a bad ID", "+FULLRESYNC short 1\r\n", `"short 1"`},
	{"a bad offset", "+FULLRESYNC " + idA + " -1\r\n", "the master begins with ID and offset"},
	{"no offset", "+FULLRESYNC " + idA + "\r\n", "the master begins with ID and offset"},
	{"CONTINUE unasked", "+CONTINUE\r\n", "not asked for"},
	{"CONTINUE unasked, then newlines", "+CONTINUE " + idB + "\r\n" + strings.Repeat("\n", 1_000_000), "not asked for"},
	{"busy", "-LOADING wait\r\n", "cannot do it now"},
	{"without a master", "-NOMASTERLINK no\r\n", "cannot do it now"},
	{"no file", "+FULLRESYNC " + idA + " 1\r\n$-1\r\n", `"$-1"`},
	{"an error for a file", "+FULLRESYNC " + idA + " 1\r\n-ERR fork\r\n", `"-ERR fork"`},
	{"a short mark", "+FULLRESYNC " + idA + " 1\r\n$EOF:" + strings.Repeat("m", 39) + "\r\n", "end mark of 39 bytes"},
	{"a wrong mark", "+FULLRESYNC " + idA + " 1\r\n$EOF:" + strings.Repeat("m", 40) + "\r\nkeys;" + strings.Repeat("n", 40), "not behind the file"},
	{"a file that ends early", "+FULLRESYNC " + idA + " 1\r\n$9\r\nkeys;more", "before the 9 bytes"},
	{"a file that does not end", "+FULLRESYNC " + idA + " 1\r\n$4\r\nkeys", "file: EOF"},
	{"an absurd size", "+FULLRESYNC " + idA + " 1\r\n$99999999999999999999\r\n", `"$99999999999999999999"`},
	{"a million newlines, then silence", strings.Repeat("\n", 1_000_000), "silent for 60 s"},
	{"silence", "", "silent for 60 s"},
	{"silence within a file", "+FULLRESYNC " + idA + " 1\r\n$9\r\nkey", "silent for 60 s"},
	{"silence before the mark", "+FULLRESYNC " + idA + " 1\r\n$EOF:" + strings.Repeat("m", 40) + "\r\nkeys;mmm", "silent for 60 s"},
}

// Whatever a master sends in place of data, the log says what is wrong, the old data stays, and it is tried again.
func TestBadMastersLeaveTheOldData(t *testing.T) {
	for _, x := range badMasters {
		bubble(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.start()
			m := r.connected()
			m.hello()
			m.want("PSYNC ? -1")
			go m.send(x.says) // ends when it is read, or the connection is closed
			if x.log == "silent for 60 s" {
				time.Sleep(61 * time.Second)
			}
			again := r.connected()
			if log := r.said(); !strings.Contains(log, x.log) {
				t.Errorf("%s: the log lacks %q:\n%s", x.name, x.log, log)
			}
			if got, st := r.data.has(), r.f.Status(); got != "old;" || st.Offset != -1 || st.Up() {
				t.Errorf("%s: the data is %q, status %+v", x.name, got, st)
			}
			if r.data.begun != r.data.ended {
				t.Errorf("%s: %d files were begun, %d ended", x.name, r.data.begun, r.data.ended)
			}
			_ = again.nc.Close()
		})
	}
}

// A master that is silent at any step of the handshake is given up, and the password is in no line of the log.
func TestSilenceAtEachStepEndsTheTry(t *testing.T) {
	replies := []string{"+PONG\r\n", "-WRONGPASS secret is wrong\r\n"}
	for steps := range 3 {
		bubble(t, func(t *testing.T) {
			r := newRig(t, func(s *Settings) { s.Password = "secret" })
			r.start()
			m := r.connected()
			for _, reply := range replies[:min(steps, 2)] {
				m.request()
				m.send(reply)
			}
			if steps < 2 {
				m.request()
			}
			time.Sleep(time.Minute + 2*time.Second)
			want := []string{"reply to PING: the master was silent", "reply to AUTH: the master was silent", "refuses masteruser and masterauth"}[steps]
			if log := r.said(); !strings.Contains(log, want) || strings.Contains(log, "secret") {
				t.Errorf("after %d steps: the log has no %q, or a password:\n%s", steps, want, log)
			}
		})
	}
}

// What is no command ends the connection, and the data keeps its position.
func TestBadStreamsEndTheConnection(t *testing.T) {
	for _, x := range []struct{ name, says, log string }{
		{"garbage", "+OK\r\n", "in place of a command"},
		{"an annotation", "#TS:1\r\n", "in place of a command"},
		{"too many arguments", "*1000000000\r\n", "in place of a number"},
		{"many arguments", "*100000000\r\n" + strings.Repeat("$0\r\n\r\n", 40000), "too long"},
		{"a long argument", "*1\r\n$1048577\r\n", "in place of a number"},
		{"a long command", "*3\r\n$1000000\r\n" + strings.Repeat("x", 1000000) + "\r\n$1000000\r\n", "too long"},
		{"a long transaction", command("MULTI") + strings.Repeat(command("SET", "k", strings.Repeat("x", 1000)), 1200), "longer than 1048576 bytes"},
		{"a bulk that is cut", "*1\r\n$100\r\nabc", "silent"},
		{"silence", "", "silent"},
		{"a full disk", command("BROKEN"), "the disk is full"},
	} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.start()
			m := r.connected()
			m.give("keys;", 10)
			go func() {
				for !strings.HasPrefix(m.request(), "error") { // until the connection is closed
				}
			}()
			good := command("SET", "k", "v")
			go m.send(good + x.says)
			time.Sleep(time.Minute)
			again := r.connected()
			again.hello()
			again.want(fmt.Sprintf("PSYNC %s %d", idA, 10+len(good)+1))
			if log := r.said(); !strings.Contains(log, x.log) {
				t.Errorf("%s: the log lacks %q:\n%s", x.name, x.log, log)
			}
			if got := r.data.has(); got != "keys;0 SET k v" {
				t.Errorf("%s: the data is %q", x.name, got)
			}
		})
	}
}

// A command that fails stops the replication, with its text and its offset, and nothing of its transaction counts.
func TestCommandsThatFailStopTheReplication(t *testing.T) {
	for _, x := range []struct{ name, says string }{
		{"FAILS", command("FAILS", "a\nb")}, {"UNKNOWN", command("UNKNOWN")}, {"databases", command("SELECT", "16")}, {"databases", command("SELECT", "x")},
		{"ERR no", command("MULTI") + command("SET", "half", "done") + command("FAILS") + command("EXEC")},
		{"MULTI within MULTI", command("MULTI") + command("MULTI")}, {"there is no MULTI", command("EXEC")},
	} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.start()
			m := r.connected()
			m.give("keys;", 10)
			m.want("REPLCONF ACK 10")
			m.send(command("SET", "k", "v") + x.says)
			time.Sleep(time.Hour)
			st := r.f.Status()
			var failed *CommandError
			if !errors.As(st.Stopped, &failed) || !strings.Contains(st.Stopped.Error(), x.name) || !strings.Contains(st.Stopped.Error(), "offset ") || st.Up() {
				t.Errorf("%s: status %+v", x.name, st)
			}
			if want := int64(10 + len(command("SET", "k", "v"))); st.Offset != want || r.data.Position().Offset != want || r.data.has() != "keys;0 SET k v" {
				t.Errorf("%s: the data is %q, offset %d, want %d", x.name, r.data.has(), st.Offset, want)
			}
			if log := r.said(); strings.Count(log, "REPLICATION HAS STOPPED") != 1 || strings.Count(log, "Connecting") != 1 {
				t.Errorf("%s: the log is\n%s", x.name, log)
			}
		})
	}
}

// With replica-on-error continue commands that fail are counted, with replica-unknown-command skip only unknown ones.
func TestCommandsThatFailArePassedOverIfThatIsWanted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.PassUnknown = true })
		r.start()
		m := r.connected()
		m.give("keys;", 10)
		m.want("REPLCONF ACK 10")
		m.send(command("UNKNOWN") + command("MULTI") + command("SET", "a", "1") + command("UNKNOWN", "x") + command("EXEC"))
		synctest.Wait()
		if st := r.f.Status(); st.Passed != 2 || !strings.Contains(st.LastFailed, `"x"`) || !st.Up() {
			t.Errorf("status %+v", st)
		}
		m.send(command("FAILS"))
		synctest.Wait()
		if st := r.f.Status(); st.Stopped == nil || st.Passed != 2 {
			t.Errorf("status %+v", st)
		}
	})
	bubble(t, func(t *testing.T) {
		r := newRig(t, func(s *Settings) { s.PassErrors = true })
		r.start()
		m := r.connected()
		m.give("keys;", 10)
		m.want("REPLCONF ACK 10")
		m.send(strings.Repeat(command("FAILS"), 5) + command("SET", "a", "1"))
		synctest.Wait()
		if st := r.f.Status(); st.Passed != 5 || !st.Up() || r.data.has() != "keys; |  |  |  |  | 0 SET a 1" {
			t.Errorf("status %+v, data %q", st, r.data.has())
		}
		if n := strings.Count(r.said(), "Passed over"); n != 3 {
			t.Errorf("%d lines of the log for 5 commands, want 3", n)
		}
	})
}

// Tries become rarer, up to one in 30 seconds, and frequent again once the stream was reached.
func TestTriesBecomeRarer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.start()
		begin, want := time.Now(), time.Duration(0)
		for _, wait := range []int{0, 1, 2, 4, 8, 16, 30, 30} {
			_ = r.connected().nc.Close()
			if want += time.Duration(wait) * time.Second; time.Since(begin) != want {
				t.Errorf("a try after %v, want %v", time.Since(begin), want)
			}
		}
		m := r.connected()
		m.give("keys;", 10)
		m.want("REPLCONF ACK 10")
		_ = m.nc.Close()
		begin = time.Now()
		r.connected()
		if time.Since(begin) != time.Second {
			t.Errorf("a try after %v, want 1 s", time.Since(begin))
		}
	})
}

// A stream without effects is noted now and then, and when the follower is stopped.
func TestCommandsWithoutEffectsAreNoted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.start()
		m := r.connected()
		m.give("keys;", 0)
		m.want("REPLCONF ACK 0")
		pings := strings.Repeat(command("PING"), 7000)
		go m.send(pings)
		synctest.Wait()
		if at := r.data.Position().Offset; r.data.noted != 1 || at < mostUnnoted || at == int64(len(pings)) {
			t.Errorf("noted %d times, offset %d", r.data.noted, at)
		}
		r.f.Stop()
		if at := r.data.Position().Offset; at != int64(len(pings)) {
			t.Errorf("stopped: offset %d, want %d", at, len(pings))
		}
	})
}

// replay lets a follower read a stream from where its data is, once, and returns why it ended.
func replay(s *store, stream string, from int) error {
	f := &Follower{o: Options{Settings: func() Settings { return Settings{} }, Logf: func(bool, string, ...any) {}}, data: s}
	at := s.Position()
	f.applied.Store(at.Offset)
	c := newConn(f, script{strings.NewReader(stream[at.Offset:from])}, Settings{Timeout: time.Hour, MaxArgument: 1 << 16, MaxCommand: 1 << 16, Databases: 16})
	c.old = true // no acknowledgements
	return c.follow(at)
}

// script is a connection that brings bytes and takes none.
type script struct{ *strings.Reader }

func (script) Write(b []byte) (int, error)      { return len(b), nil }
func (script) Close() error                     { return nil }
func (script) LocalAddr() net.Addr              { return nil }
func (script) RemoteAddr() net.Addr             { return nil }
func (script) SetDeadline(time.Time) error      { return nil }
func (script) SetReadDeadline(time.Time) error  { return nil }
func (script) SetWriteDeadline(time.Time) error { return nil }

// Whatever a stream has, and wherever it is cut, the data has each command once: the same as without a cut.
func FuzzStream(f *testing.F) {
	f.Add(command("SET", "k", "v")+"\n\n"+command("SELECT", "3")+command("MULTI")+command("INCR", "a")+command("EXEC")+command("PING"), uint16(40))
	f.Add(command("MULTI")+command("FAILS")+command("EXEC")+"*9999999999\r\n", uint16(3))
	f.Add("*1\r\n$-1\r\n", uint16(1))
	f.Add(command("SELECT", "15")+command("REPLCONF", "GETACK", "*")+command("MULTI")+command("SELECT", "1")+command("DISCARD")+command("SET", "a", "1"), uint16(77))
	f.Fuzz(func(t *testing.T, stream string, at uint16) {
		whole, cut := &store{}, &store{}
		_ = replay(whole, stream, len(stream))
		_ = replay(cut, stream, int(at)%(len(stream)+1))
		_ = replay(cut, stream, len(stream))
		if whole.has() != cut.has() || whole.at != cut.at {
			t.Errorf("%q cut at %d: %q at %+v, want %q at %+v", stream, at, cut.has(), cut.at, whole.has(), whole.at)
		}
		if whole.at.Offset > int64(len(stream)) {
			t.Errorf("%q: offset %d", stream, whole.at.Offset)
		}
	})
}

// A stream that is cut at each of its bytes leads to the same.
func TestStreamsMayBeCutAnywhere(t *testing.T) {
	stream := command("SELECT", "3") + command("SET", "k", "v") + "\n" + command("MULTI") + command("INCR", "a") + command("SELECT", "4") + command("INCR", "b") +
		command("EXEC") + command("PING") + command("SET", "k", "w") + command("MULTI") + command("EXEC") + command("SELECT", "5")
	want := &store{}
	_ = replay(want, stream, len(stream))
	if want.has() != "3 SET k v | 3 INCR a; 4 INCR b | 4 SET k w" || want.at.Offset != int64(len(stream)) || want.at.DB != 5 {
		t.Fatalf("the whole stream: %q at %+v", want.has(), want.at)
	}
	for first := range len(stream) {
		got := &store{}
		for _, end := range []int{first, min(len(stream), first+7), len(stream)} {
			if err := replay(got, stream, end); err == nil {
				t.Fatal("the end of the connection is no error")
			}
		}
		if got.has() != want.has() || got.at != want.at {
			t.Errorf("cut at %d: %q at %+v", first, got.has(), got.at)
		}
	}
}
