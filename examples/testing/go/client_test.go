package client

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
)

var simulator struct {
	BaseURL    string `json:"base_url"`
	APIKey     string `json:"api_key"`
	ControlURL string `json:"control_url"`
}

// TestMain starts one simulator for all tests.
func TestMain(m *testing.M) {
	kiln := exec.Command("kiln", "simulate", "--json", "--port", "0", "--ready-after", "0",
		"--stop-with-stdin")
	// The simulator ends with this pipe, and the pipe with this process.
	input, _ := kiln.StdinPipe()
	output, err := kiln.StdoutPipe()
	if err == nil {
		err = kiln.Start()
	}
	// It prints its settings as soon as it accepts requests.
	if err == nil {
		err = json.NewDecoder(output).Decode(&simulator)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	input.Close()
	kiln.Wait()
	os.Exit(code)
}

// control posts to the control port, which takes no key, and reports what it finds wrong.
func control(t *testing.T, path, body string) {
	t.Helper()
	content := bytes.NewBufferString(body)
	response, err := http.Post(simulator.ControlURL+path, "application/json", content)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(path, response.Status, err, string(text))
	}
	var result struct{ Problem string }
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	if result.Problem != "" {
		t.Error(result.Problem)
	}
}

func TestAFailedPollIsRepeated(t *testing.T) {
	control(t, "/api/reset", "{}")
	control(t, "/api/faults", `{"rule": "html-502@poll:2x"}`)
	picture, err := PictureOf(simulator.BaseURL, simulator.APIKey, "a red fox")
	if err != nil || !bytes.HasPrefix(picture, []byte{0xff, 0xd8}) {
		t.Fatal("no picture: ", err)
	}
	control(t, "/api/requests/verify", `{"fault": "html-502", "times": 2}`)
	control(t, "/api/requests/verify", `{"method": "POST", "times": 1}`)
}
