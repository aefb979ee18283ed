"""The graphs that `langgraph.json` names, for LangGraph's server and Studio."""

from __future__ import annotations

from plait.examples.accounting.scripted import scripted_model as accounting_model
from plait.examples.accounting.units import accounting_workflow
from plait.examples.chat import chat_workflow, scripted_model
from plait.examples.models import chosen_model

accounting = accounting_workflow(chosen_model(accounting_model)[0]).graph
chat = chat_workflow(chosen_model(scripted_model)[0]).graph
