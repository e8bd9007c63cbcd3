package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	appsv1 "k8s.io/api/apps/v1"
)

// programs is where the server is built, once a test needs it.
var programs string

var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "vigil-server")
	if out, err := exec.Command("go", "build", "-C", "../../../..", "-o", path, "./cmd/vigil-server").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "vigil-chart")
	if err != nil {
		panic(err)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// pod is a pod on this machine: its addresses are of the loopback network, one for each, as all pods use the same ports.
type pod struct {
	set    *appsv1.StatefulSet
	number int
	addr   string // with the port
	dir    string // its root
	cmd    *exec.Cmd
	out    *bytes.Buffer
	ended  chan struct{}
}

// node runs the pods of a chart.
type node struct {
	t    *testing.T
	in   *installed
	port string
	pods []*pod
}

// schedule starts all pods of what was installed.
func schedule(t *testing.T, port int, values ...string) *node {
	t.Helper()
	n := &node{t: t, port: strconv.Itoa(port)}
	n.in = mustRender(t, append(values, "port="+n.port, "metrics.enabled=false", "config.cluster-election-timeout=1000")...)
	for name := range n.in.sets {
		set := n.in.sets[name]
		for i := range int(*set.Spec.Replicas) {
			n.pods = append(n.pods, &pod{set: set, number: int(set.Spec.Ordinals.Start) + i})
		}
	}
	slices.SortFunc(n.pods, func(a, b *pod) int { return strings.Compare(a.host(), b.host()) })
	for i, p := range n.pods {
		p.addr = net.JoinHostPort(fmt.Sprintf("127.0.%d.%d", 80+os.Getpid()%100, i+1), n.port)
	}
	for _, p := range n.pods {
		n.mount(p)
		n.start(p)
	}
	return n
}

// host is the name that the headless service gives a pod.
func (p *pod) host() string {
	return fmt.Sprintf("%s-%d.%s.prod.svc.cluster.local", p.set.Name, p.number, p.set.Spec.ServiceName)
}

// local makes of a text of the cluster one of this machine: names of pods, paths of the container.
func (n *node) local(p *pod, text string) string {
	for _, other := range n.pods {
		text = strings.ReplaceAll(text, other.host()+":"+n.port, other.addr)
	}
	host, _, _ := net.SplitHostPort(p.addr)
	text = strings.ReplaceAll(text, "bind * -::*", "bind "+host)
	for _, path := range []string{"/etc/vigil", "/data"} {
		text = regexp.MustCompile(`(^|\s)`+path).ReplaceAllString(text, "${1}"+p.dir+path)
	}
	return text
}

// mount puts the volumes where the pod finds them.
func (n *node) mount(p *pod) {
	n.t.Helper()
	p.dir = n.t.TempDir()
	spec := p.set.Spec.Template.Spec
	for _, m := range spec.Containers[0].VolumeMounts {
		at := filepath.Join(p.dir, m.MountPath)
		if err := os.MkdirAll(at, 0o770); err != nil {
			n.t.Fatal(err)
		}
		files := map[string]string{}
		for _, v := range spec.Volumes {
			switch {
			case v.Name != m.Name:
			case v.ConfigMap != nil:
				files = n.in.configs[v.ConfigMap.Name].Data
			case v.Secret != nil:
				files = n.in.secrets[v.Secret.SecretName].StringData
			}
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(at, name), []byte(n.local(p, text)), 0o440); err != nil {
				n.t.Fatal(err)
			}
		}
	}
}

// command is a command line of the pod on this machine.
func (n *node) command(p *pod, words []string) *exec.Cmd {
	path, err := binary()
	if err != nil {
		n.t.Fatal(err)
	}
	for i, w := range words {
		words[i] = n.local(p, w)
	}
	if words[0] != "/vigil-server" {
		n.t.Fatalf("the image has no %s", words[0])
	}
	return exec.Command(path, words[1:]...)
}

func (n *node) start(p *pod) {
	n.t.Helper()
	c := p.set.Spec.Template.Spec.Containers[0]
	words := append(slices.Clone(c.Command), c.Args...)
	for i := range words {
		for _, e := range c.Env {
			if e.ValueFrom == nil || e.ValueFrom.FieldRef == nil || e.ValueFrom.FieldRef.FieldPath != "metadata.labels['apps.kubernetes.io/pod-index']" {
				n.t.Fatalf("the pod's index is not where %s is from: %+v", e.Name, e.ValueFrom)
			}
			words[i] = strings.ReplaceAll(words[i], "$("+e.Name+")", strconv.Itoa(p.number))
		}
	}
	p.cmd, p.out, p.ended = n.command(p, words), &bytes.Buffer{}, make(chan struct{})
	p.cmd.Dir = n.t.TempDir()
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	ended := p.ended
	cmd := p.cmd
	go func() { cmd.Wait(); close(ended) }()
	n.t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		if n.t.Failed() {
			n.t.Logf("%s:\n%s", p.host(), p.out)
		}
	})
}

// ready waits until the readiness probe of each pod succeeds.
func (n *node) ready() {
	n.t.Helper()
	for _, p := range n.pods {
		await(n.t, p.host()+" is ready", func() bool {
			out, err := n.command(p, slices.Clone(p.set.Spec.Template.Spec.Containers[0].ReadinessProbe.Exec.Command)).CombinedOutput()
			return err == nil && string(out) == "+PONG\n"
		})
	}
}

func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("waited a minute until %s", what)
		}
	}
}

// freePort is one for pods at every address of the loopback network, with that for members.
func freePort(t *testing.T) int {
	for range 100 {
		port := 12000 + rand.IntN(10000)
		l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", port))
		if err != nil {
			continue
		}
		l.Close()
		if l, err = net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", port+10000)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func (n *node) client(p *pod) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: p.addr, Password: password, MaxRetries: -1, Protocol: 2})
	n.t.Cleanup(func() { c.Close() })
	return c
}

func TestPodOfASingleServerAnswersItsProbes(t *testing.T) {
	n := schedule(t, freePort(t), "mode=single")
	n.ready()
	c := n.client(n.pods[0])
	if err := c.Set(t.Context(), "session:42", "robin", 0).Err(); err != nil {
		t.Fatal(err)
	}
	stranger := redis.NewClient(&redis.Options{Addr: n.pods[0].addr, MaxRetries: -1})
	defer stranger.Close()
	if err := stranger.Get(t.Context(), "session:42").Err(); err == nil {
		t.Error("without the password a client reads")
	}
	n.pods[0].cmd.Process.Kill()
	<-n.pods[0].ended
	n.start(n.pods[0])
	n.ready()
	if got, err := c.Get(t.Context(), "session:42").Result(); got != "robin" || err != nil {
		t.Errorf("after a kill: %q, %v", got, err)
	}
}

// leader waits for the pod that leads.
func (n *node) leader(among []*pod) (found *pod) {
	n.t.Helper()
	await(n.t, "a pod leads", func() bool {
		for _, p := range among {
			ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
			role, err := n.client(p).Do(ctx, "ROLE").Slice()
			cancel()
			if err == nil && role[0] == "master" {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

func TestPodsOfAGroupReplaceTheirLeader(t *testing.T) {
	n := schedule(t, freePort(t), withSecrets("mode=group")...)
	n.ready()
	first := n.leader(n.pods)
	if err := n.client(first).Set(t.Context(), "session:42", "robin", 0).Err(); err != nil {
		t.Fatal(err)
	}
	first.cmd.Process.Kill()
	<-first.ended
	rest := slices.DeleteFunc(slices.Clone(n.pods), func(p *pod) bool { return p == first })
	next := n.leader(rest)
	if got, err := n.client(next).Get(t.Context(), "session:42").Result(); got != "robin" || err != nil {
		t.Errorf("at the next leader: %q, %v", got, err)
	}
	watch := redis.NewSentinelClient(&redis.Options{Addr: rest[0].addr, Password: password})
	defer watch.Close()
	if at, err := watch.GetMasterAddrByName(t.Context(), "mymaster").Result(); err != nil || net.JoinHostPort(at[0], at[1]) != next.addr {
		t.Errorf("clients of Sentinel are sent to %v, %v, and %s leads", at, err, next.addr)
	}
	n.start(first) // as Kubernetes does
	n.ready()
}

func TestPodsOfAClusterDivideTheSlots(t *testing.T) {
	n := schedule(t, freePort(t), withSecrets("mode=cluster", "cluster.shards=2")...)
	n.ready()
	var addrs []string
	for _, p := range n.pods {
		addrs = append(addrs, p.addr)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Password: password, MaxRedirects: 8})
	defer c.Close()
	await(t, "all slots are served", func() bool {
		info, err := c.ClusterInfo(t.Context()).Result()
		return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384")
	})
	for i := range 100 {
		await(t, "a key is written", func() bool { return c.Set(t.Context(), fmt.Sprint("k", i), i, 0).Err() == nil })
	}
	masters := map[string]bool{}
	slots, err := c.ClusterSlots(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slots {
		masters[s.Nodes[0].Addr] = true
		if len(s.Nodes) != 3 {
			t.Errorf("slots %d to %d are at %d servers", s.Start, s.End, len(s.Nodes))
		}
	}
	if len(masters) != 2 {
		t.Errorf("masters are %v", masters)
	}
}
