"""Write the facts of this machine: python workflow/scripts/machine.py --study quickstart --out FILE"""

import argparse
from pathlib import Path

from tachograph.devicechoice import choose_device
from tachograph.files import write_json
from tachograph.machine import machine_facts
from tachograph.opening import open_study
from tachograph.scripting import configuration, run_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    settings = configuration()
    one = open_study(arguments.study, settings, Path.cwd())
    device = choose_device(one.planned[0].device_kind, settings.device, arguments.study)
    write_json(arguments.out, machine_facts(device, Path(__file__).with_name("probe_torch.py")))


run_program(main)
