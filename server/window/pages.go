package window

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/server"

	"github.com/vigildb/vigil/server/internal/door"
)

//go:embed templates static
var files embed.FS

const healthPath = "/healthz"

// Calls that a page is made of. Who may not make them is not shown the page.
var (
	needInfo    = call{"INFO", "nothing"}
	needNames   = call{"SCAN", "0", "COUNT", "1"}
	needSlowLog = call{"SLOWLOG", "GET", "0"}
	needClients = call{"CLIENT", "LIST", "ID", "1"}
	needGroup   = call{"VIGIL.CLUSTER", "STATUS"}
	needBackups = call{"VIGIL.SNAPSHOT", "LIST"}
)

// route is a page.
type route struct {
	path, title string
	needs       []call
	build       func(*http.Request, *page) error
	tab         string // the path of another page, whose tab is shown for this one, which has none
}

// routes are the pages in the order of their tabs. Links are relative, for proxies that serve the window under a path.
func (w *Window) routes() []route {
	return []route{
		{"", "Overview", []call{needInfo}, w.overview, ""},
		{"keys", "Keys", []call{needInfo, needNames}, w.keysPage, ""},
		{"key", "Key", []call{needInfo}, w.lookPage, "keys"},
		{"clients", "Clients", []call{needInfo, needClients}, w.clientsPage, ""},
		{"slowlog", "Slow log", []call{needInfo, needSlowLog}, w.slowPage, ""},
		{"group", "Group", []call{needInfo}, w.groupPage, ""},
		{"schedules", "Schedules", []call{needInfo, needNames}, w.schedulesPage, ""},
		{"placement", "Placement", []call{needInfo, needNames}, w.placementPage, ""},
	}
}

// Handler serves all requests to the window, with its access rules. Programs
// that embed the server can serve it by a server of their own.
func (w *Window) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", w.admit(w.metricsHandler(), needInfo))
	mux.HandleFunc(healthPath, w.answerHealth)
	mux.HandleFunc("/login", w.login)
	mux.Handle("/", w.admit(http.HandlerFunc(http.NotFound)))
	for _, r := range w.routes() {
		path := "/" + r.path
		if r.path == "" {
			path = "/{$}"
		}
		mux.Handle(path, w.admit(w.show(r), r.needs...))
	}
	for path, kind := range map[string]string{"/style.css": "text/css; charset=utf-8", "/refresh.js": "text/javascript; charset=utf-8",
		"/icon.svg": "image/svg+xml"} {
		content, err := files.ReadFile("static" + path)
		if err != nil {
			panic(err) // it is not embedded: a bug
		}
		mux.Handle(path, w.admit(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", kind)
			rw.Header().Set("Cache-Control", "max-age=300")
			http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(content))
		})))
	}
	return w.guard(mux)
}

// answerHealth reports to a load balancer whether the server does what its role asks for, and with
// ?leader whether it is to get writes. The detailed reason is shown only to requests with the password.
func (w *Window) answerHealth(rw http.ResponseWriter, r *http.Request) {
	ask := w.srv.Health
	if r.URL.Query().Has("leader") {
		ask = w.inside.Leads
	}
	status, text, role := http.StatusOK, "ok", w.inside.Role()
	if role != door.RoleAlone {
		text += ": " + string(role)
	}
	if err := ask(); err != nil {
		status, text = http.StatusServiceUnavailable, complaint(err, w.knows(r))
		if role != door.RoleAlone {
			text = string(role) + ": " + text
		}
	}
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	rw.WriteHeader(status)
	fmt.Fprintln(rw, text)
}

// complaint is the text of an error of Health or Leads. Only some are to see its details.
func complaint(err error, details bool) string {
	text := "writes are refused: the disk fails"
	for _, known := range []error{server.ErrLoading, door.ErrNoLeader, door.ErrBehind, door.ErrLeft, door.ErrFollows} {
		if errors.Is(err, known) {
			if !details {
				err = known
			}
			return strings.TrimPrefix(err.Error(), "server: ")
		}
	}
	if details {
		text += ": " + err.Error()
	}
	return text
}

// page is what every page has, and in Body what is its own.
type page struct {
	Name, Title string
	Version     string
	Address     string
	Up          string
	At          string
	Well        bool
	Health      string
	Notes       []string
	Body        any
	User        string // who looks, if that is not the default user
	figures     *figures
	visitor     *visitor
	status      int
	Tabs        []tab
}

type tab struct {
	Path, Title string
	Here        bool
}

func (w *Window) tabs(here route) (all []tab) {
	for _, r := range w.routes() {
		if r.tab == "" {
			all = append(all, tab{cmp.Or(r.path, "./"), r.title, r.path == cmp.Or(here.tab, here.path)})
		}
	}
	return all
}

// note adds a message about something that could not be shown, once.
func (p *page) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

func pageTemplate(page string) *template.Template {
	t := template.New("layout.html").Funcs(template.FuncMap{"name": name, "count": count, "size": size, "micros": micros,
		"percent": percent, "width": width, "digits": digits})
	return template.Must(t.ParseFS(files, "templates/layout.html", "templates/parts.html", "templates/"+page+".html"))
}

// show renders the whole page before it replies, so that a template that fails
// halfway is a clean error, and a slow reader holds nothing but the bytes.
func (w *Window) show(of route) http.HandlerFunc {
	name := cmp.Or(of.path, "overview")
	t := pageTemplate(name)
	return func(rw http.ResponseWriter, r *http.Request) {
		p := &page{Name: name, Title: of.title, Tabs: w.tabs(of), status: http.StatusOK, At: w.now().Format("15:04:05"), visitor: visitorOf(r)}
		if p.visitor.user != defaultUser {
			p.User = printable(p.visitor.user, maxName)
		}
		err := w.head(p)
		if err == nil {
			err = of.build(r, p)
		}
		var refused refusal
		switch {
		case errors.As(err, &refused):
			p.status, p.Body = http.StatusForbidden, nil
			p.note("This is not for you to see: %v.", refused)
		case err != nil:
			p.status, p.Body = http.StatusServiceUnavailable, nil
			p.note("The server did not answer: %v.", err)
		}
		var out bytes.Buffer
		if err := t.Execute(&out, p); err != nil {
			w.log.Warn(fmt.Sprintf("window: page %s: %v", name, err))
			http.Error(rw, "the page could not be made; the log says why", http.StatusInternalServerError)
			return
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		rw.Header().Set("Content-Length", strconv.Itoa(out.Len()))
		rw.WriteHeader(p.status)
		rw.Write(out.Bytes())
	}
}

// head fills in what every page has.
func (w *Window) head(p *page) error {
	health := w.srv.Health()
	p.Well, p.Health = health == nil, "takes reads and writes"
	if w.inside.Role() == door.RoleFollower {
		p.Health = "follows the leader of its group"
	}
	f, err := w.source.Current()
	if err != nil {
		p.Well, p.Health = false, "does not answer"
		return err
	}
	p.figures = f
	switch {
	case errors.Is(health, server.ErrLoading):
		p.Health = "loading, " + f.Info["loading_loaded_perc"] + " %"
	case health != nil:
		p.Health = complaint(health, true)
	}
	p.Version = f.Info["vigil_version"]
	p.Up = span(f.Number("uptime_in_seconds"))
	p.Address = "port " + f.Info["tcp_port"]
	if f.Number("vigil_in_memory") == 1 {
		p.Address += ", in memory only"
	}
	return nil
}

// askedKey is the key that a page was asked for, if any.
func askedKey(r *http.Request) (k keyRef, ok bool) {
	q := r.URL.Query()
	db, err := strconv.Atoi(q.Get("db"))
	if err != nil || db < 0 {
		db = 0
	}
	return keyRef{db, q.Get("key")}, q.Has("key") && q.Get("key") != ""
}
