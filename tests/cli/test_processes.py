"""The command as a process: pipes, a terminal, signals."""

import re
import signal
import subprocess
import sys
import time

import pexpect
import pytest

NOT_SHOWN = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def on_terminal(folder, *args, columns=100):
    command, *rest = folder.command(*args)
    return pexpect.spawn(
        command,
        rest,
        cwd=str(folder.path),
        env=folder.env,
        dimensions=(30, columns),
        encoding="utf-8",
        timeout=120,
    )


def ended(terminal):
    """What was still printed, and the exit status."""
    terminal.expect(pexpect.EOF)
    terminal.close()
    return NOT_SHOWN.sub("", terminal.before), terminal.exitstatus


def begun(folder, file, timeout_s=120):
    """Wait until the run has come to its waiting tool."""
    until = time.monotonic() + timeout_s
    while not (folder.path / f"{file}.waits").exists():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_ctrl_c_on_a_terminal_stops_where_the_run_can_be_resumed(folder):
    terminal = on_terminal(folder, "run", folder.file("waiting"), "走一遍", "--thread", "t", columns=60)
    terminal.expect("runs wait_for")
    begun(folder, "go")
    terminal.sendintr()
    terminal.expect("Ctrl-C again")
    (folder.path / "go").touch()
    told, status = ended(terminal)

    done = folder.run("resume", "t")

    assert status == 130
    assert "plait resume t" in told
    assert (done.returncode, done.stdout) == (0, "the end\n")


def test_a_second_signal_stops_now_and_the_thread_is_kept(folder):
    process = subprocess.Popen(
        folder.command("run", folder.file("waiting"), "x", "--thread", "t"),
        cwd=folder.path,
        env=folder.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begun(folder, "go")
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    (folder.path / "go").touch()

    assert process.returncode == 130
    assert "plait resume t" in told
    assert "Traceback" not in told
    assert folder.invoke("resume", "t").stdout == "the end\n"


def test_another_process_steers_a_run(folder):
    process = subprocess.Popen(
        folder.command("run", folder.file("waiting"), "x", "--thread", "t", "--json"),
        cwd=folder.path,
        env=folder.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    begun(folder, "go")
    stands = folder.invoke("threads").stdout
    sent = folder.invoke("steer", "t", "first", "be", "brief")
    (folder.path / "go").touch()
    process.communicate(timeout=120)

    assert "running" in stands
    assert sent.exit_code == 0
    assert '"output": "brief"' in folder.invoke("show", "t", "--json").stdout


def test_a_terminal_is_asked_until_the_answer_fits(folder):
    terminal = on_terminal(folder, "run", folder.file("paying"), "x")
    terminal.expect("reject")
    terminal.sendline("perhaps")
    terminal.expect("it takes")
    terminal.sendline("approve")
    told, status = ended(terminal)

    assert status == 0
    assert "✓ till" in told
    assert "finished" in told


def test_a_new_project_passes_its_own_tests(folder):
    made = folder.invoke("new", "support-desk")
    folder.path /= "support-desk"

    checked = folder.invoke("check", "support-desk/workflow.cases.yaml")
    cases = folder.run("test", "workflow.yaml")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    tests = subprocess.run(command, cwd=folder.path, env=folder.env, capture_output=True, text=True)

    assert made.exit_code == 0
    assert checked.exit_code == 0
    assert cases.returncode == 0, cases.stdout
    assert tests.returncode == 0, tests.stdout


@pytest.mark.parametrize("lacking", ["typer", "rich"])
def test_without_its_extra_the_command_names_it(lacking):
    code = f"import sys; sys.modules[{lacking!r}] = None; from plait.cli import main; main()"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert ended.returncode == 2
    assert ended.stderr == "plait: the command needs the extra `cli`: pip install 'plait[cli]'\n"
